"""Motion matching: a character that responds, from a folder of takes."""

from motionloom.motion_matching.database import MatchingDatabase, matching_database
from motionloom.motion_matching.settings import MatchingSettings

__all__ = ["MatchingDatabase", "MatchingSettings", "matching_database"]

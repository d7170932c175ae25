"""Motion matching: a character that responds, from a folder of takes."""

from motionloom.motion_matching.build import matching_database
from motionloom.motion_matching.database import MatchingDatabase
from motionloom.motion_matching.matching_player import MatchingPlayer, MatchState
from motionloom.motion_matching.settings import MatchingSettings, MatchingWalkSettings
from motionloom.motion_matching.steering_courses import COURSES, CourseResult, run_course

__all__ = [
    "COURSES",
    "CourseResult",
    "MatchState",
    "MatchingDatabase",
    "MatchingPlayer",
    "MatchingSettings",
    "MatchingWalkSettings",
    "matching_database",
    "run_course",
]

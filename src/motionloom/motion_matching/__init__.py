"""Motion matching, which builds a responsive character from a folder of takes."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.motion_matching.build import matching_database as matching_database
    from motionloom.motion_matching.database import MatchingDatabase as MatchingDatabase
    from motionloom.motion_matching.matching_player import MatchingPlayer as MatchingPlayer
    from motionloom.motion_matching.matching_player import MatchState as MatchState
    from motionloom.motion_matching.settings import MatchingSettings as MatchingSettings
    from motionloom.motion_matching.settings import MatchingWalkSettings as MatchingWalkSettings
    from motionloom.motion_matching.steering_courses import COURSES as COURSES
    from motionloom.motion_matching.steering_courses import CourseResult as CourseResult
    from motionloom.motion_matching.steering_courses import run_course as run_course

__getattr__, __dir__ = imported_on_use(__name__)

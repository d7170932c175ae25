# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of the sidebar; each module serves a panel or a part of one."""

from __future__ import annotations

from .aim import MOTIONLOOM_OT_aim, MOTIONLOOM_OT_show_reach
from .find import MOTIONLOOM_OT_find, MOTIONLOOM_OT_find_like, MOTIONLOOM_OT_find_similar
from .studio import MOTIONLOOM_OT_connect, MOTIONLOOM_OT_start, MOTIONLOOM_OT_stop
from .synthesis import MOTIONLOOM_OT_dance, MOTIONLOOM_OT_walk
from .transfer import MOTIONLOOM_OT_import, MOTIONLOOM_OT_push

CLASSES = (
    MOTIONLOOM_OT_connect,
    MOTIONLOOM_OT_start,
    MOTIONLOOM_OT_stop,
    MOTIONLOOM_OT_find,
    MOTIONLOOM_OT_find_like,
    MOTIONLOOM_OT_find_similar,
    MOTIONLOOM_OT_import,
    MOTIONLOOM_OT_walk,
    MOTIONLOOM_OT_dance,
    MOTIONLOOM_OT_show_reach,
    MOTIONLOOM_OT_aim,
    MOTIONLOOM_OT_push,
)

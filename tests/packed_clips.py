"""Clips in pages, read back one number at a time, straight from ``studio/src/player/packed.ts``."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np


def clips_of(page: str) -> list[dict]:
    """All clips of a page: headers, with ``values`` (series, frames) and ``missing``."""
    return [read_clip(text) for text in re.findall(r'<motionloom-player[^>]* clip="([^"]+)"', page)]


def read_clip(text: str) -> dict:
    data = zlib.decompress(base64.b64decode(text, validate=True), -15)
    line, _, rest = data.partition(b"\n")
    clip, at = json.loads(line), 0
    clip["values"] = np.zeros((clip["series"], clip["frames"]), np.int64)
    for row in clip["values"]:
        coded = []
        for _ in range(clip["frames"]):
            number = shift = 0
            while True:
                group = rest[at]
                at += 1
                number += (group % 128) << shift
                shift += 7
                if group < 128:
                    break
            coded.append(-(number + 1) // 2 if number % 2 else number // 2)
        for frame, number in enumerate(coded):
            if frame == 0:
                row[0] = number
            elif frame == 1:
                row[1] = row[0] + number
            else:
                row[frame] = 2 * row[frame - 1] - row[frame - 2] + number
    clip["missing"] = None
    if clip.get("gaps"):
        missing = np.frombuffer(rest[at:], np.uint8).reshape(clip["frames"], clip["points"])
        clip["missing"] = missing.astype(bool)
    else:
        assert at == len(rest)
    return clip


def positions_of(clip: dict) -> np.ndarray:
    """Positions (frames, points, 3) of a figure in meters; NaN where missing."""
    codes = clip["values"].reshape(clip["points"], 3, clip["frames"]).astype(float)
    for point in range(clip["points"]):
        for above, below, *_ in clip["bones"]:
            if below == point and above < point:
                codes[point] += codes[above]
    positions = np.moveaxis(codes, -1, 0) * clip["scale"] + clip["origin"]
    if clip["missing"] is not None:
        positions[clip["missing"]] = np.nan
    return positions

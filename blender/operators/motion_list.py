# SPDX-License-Identifier: GPL-3.0-or-later
"""The list in the sidebar: takes of the library or matches, and the row selected in it."""

from __future__ import annotations

from .. import previews
from ..session import PICTURES
from ..studio_client import StudioError

_SHOWN = 200  # maximum rows of the list
_LENGTHS: dict[str, int] = {}  # frames of each take of the library
_LABELS: dict[str, list[str]] = {}  # labels of each take of the library


def load_overview(service) -> dict:
    """Load the library, parametric motions and pictures of the first takes."""
    library = service.get("/api/library")
    names = [row["name"] for row in library["motions"][: previews.AT_ONCE]]
    return {
        "library": library,
        "parametric": service.get("/api/parametric"),
        "pictures": previews.asked(service, without_picture(names)),
    }


def show_library(context, overview: dict) -> str:
    """Fill the sidebar with an overview; returns a message for the user."""
    session, library = context.window_manager.motionloom, overview["library"]
    session.library = library["name"]
    rows = [
        {"motion": row["name"], "start_frame": 0, "end_frame": row["frames"], "start": 0.0,
         "end": row["seconds"], "labels": row["labels"]}
        for row in library["motions"]
    ]  # fmt: skip
    _LENGTHS.clear()
    _LENGTHS.update((row["name"], row["frames"]) for row in library["motions"])
    _LABELS.clear()
    _LABELS.update((row["name"], row["labels"]) for row in library["motions"])
    session.labels.clear()
    for label in sorted({label for row in rows for label in row["labels"]}):
        session.labels.add().name = label
    session.parametric.clear()
    for row in overview["parametric"]:
        item = session.parametric.add()
        item.name, item.note = row["name"], ", ".join(row["by"])
    show_rows(context, rows, overview["pictures"], lambda row: ", ".join(row["labels"]))
    more = f", only the first {_SHOWN} are listed" if len(rows) > _SHOWN else ""
    return f"{library['name']}: {len(rows)} takes{more}"


def show_matches(context, response: dict, pictures: dict) -> str:
    """Fill the list with the matches of a search; returns a message for the user."""
    unit = response["unit"]
    show_rows(context, response["matches"], pictures, lambda row: f"{row['distance']:.3g} {unit}")
    return f"{len(response['matches'])} matches"


def active_row(context):
    """Return the row selected in the list."""
    session = context.window_manager.motionloom
    if not 0 <= session.active < len(session.rows):
        raise StudioError("select a motion in the list; use Connect or Find to fill the list")
    return session.rows[session.active]


def segment_of(row) -> dict:
    """Subject of a request: the segment of a row."""
    return {
        "kind": "segment",
        "motion": row.motion,
        "start_frame": row.start_frame,
        "end_frame": row.end_frame,
    }


def with_handles(row, seconds: float) -> tuple[dict, tuple[float, float] | None]:
    """Segment of a row with handles before and after, and the seconds of the match in it."""
    segment, length = segment_of(row), _LENGTHS.get(row.motion, 0)
    frames = row.end_frame - row.start_frame
    if seconds <= 0.0 or row.end <= row.start or frames < 1:
        return segment, None
    fps = frames / (row.end - row.start)
    first = max(row.start_frame - round(seconds * fps), 0)
    last = max(min(row.end_frame + round(seconds * fps), length), row.end_frame)
    if (first, last) == (row.start_frame, row.end_frame):
        return segment, None
    marks = ((row.start_frame - first) / fps, (row.end_frame - 1 - first) / fps)
    return {**segment, "start_frame": first, "end_frame": last}, marks


def without_picture(names) -> list[str]:
    """Names without a picture yet."""
    return PICTURES.missing(list(names))


def show_rows(context, rows, pictures, note) -> None:
    """Fill the list with rows of a response; `note` returns the note of a row."""
    session = context.window_manager.motionloom
    for name, picture in pictures.items():
        PICTURES.add(name, picture)
    session.rows.clear()
    for row in rows[:_SHOWN]:
        item = session.rows.add()
        item.name = item.motion = row["motion"]
        item.start_frame, item.end_frame = row["start_frame"], row["end_frame"]
        item.start, item.end = row["start"], row["end"]
        item.labels = "\n".join(_LABELS.get(row["motion"], ()))
        item.note = note(row)
    session.active = 0

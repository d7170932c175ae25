"""The tools of an agent: methods of the library, with answers for a model that reads JSON."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

from motionloom.agents.tool import Answer, tool
from motionloom.agents.workspace import Workspace, checked_name
from motionloom.dance.settings import TUNE, ChoreographySettings, DanceSettings
from motionloom.errors import InvalidInput
from motionloom.library import parameter
from motionloom.motion_graph.settings import GraphSettings, WalkSettings
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.search.settings import FamilySettings, SearchSettings
from motionloom.text.settings import FindSettings

if TYPE_CHECKING:
    from motionloom.library import Change, TextMatch
    from motionloom.motion import Motion

_DANCE_SECONDS = 20.0
_MOST_NAMES = 200  # motions in one answer
_MOST_SOURCES = 100  # in one answer
_DPI = 80  # of pictures: 8 figures in about 1,000 pixels

PLACE = (
    "A motion of the library or a synthesized motion: NAME, or NAME:START-END in frames or, with "
    "an s, in seconds (walk:1.5s-3s)."
)
NAME = "Name of the result. Letters, digits, spaces, dots, hyphens and underscores."


# --- find -------------------------------------------------------------------------------------


@tool()
def info(
    work: Workspace,
    names_like: Annotated[str, "Only list motions with these names; * stands for any text."] = "*",
) -> Answer:
    """List the contents of the library: motions, labels, parametric motions, latest changes.

    Start here. The answer lists at most 200 motions; use `names_like` or `find` for others.
    """
    library = work.library
    if not len(library):
        return Answer({"motions": 0, "names": [], "labels": {}, "parametric": [], "made": []})
    names = library.select(only=names_like)
    entries = {entry.name: entry for entry in library.entries()}
    return Answer(
        {
            "motions": len(library),
            "names": [
                {"name": name, "seconds": round(entries[name].frames / entries[name].fps, 2)}
                for name in names[:_MOST_NAMES]
            ],
            "not_listed": max(0, len(names) - _MOST_NAMES),
            "labels": library.labels.counts(),
            "parametric": library.parametric.about(),
            "made": list(work.made),
            "changes": [_change(each) for each in library.history()[:5]],
        }
    )


@tool()
def find(
    work: Workspace,
    text: Annotated[str, "Description in English, such as 'kicks high with the right foot'."],
    settings: FindSettings | None = None,
) -> Answer:
    """Find motions by words: names, labels, and the events that the motion shows."""
    results = work.library.find(text, settings)
    shown = [each for each in results if each.sources]
    return Answer(
        {
            "results": [_text_match(each) for each in shown],
            "unknown_words": {
                word: list(results.suggestions.get(word, ())) for word in results.unknown
            },
        }
    )


@tool()
def search(
    work: Workspace,
    query: Annotated[str, PLACE],
    settings: SearchSettings | None = None,
) -> Answer:
    """Find all motion in the library that is similar to a segment, nearest first."""
    motion = work.motion(query)
    matches = work.library.search(query if _in_library(work, query) else motion, settings)
    return Answer({"unit": matches.unit, "matches": matches.to_json()})


# --- synthesize -------------------------------------------------------------------------------


@tool()
def act(
    work: Workspace,
    script: Annotated[str, "Phrases such as 'walk forward 3 s, sit down, wave twice, stand up'."],
    name: Annotated[str, NAME] = "",
) -> Answer:
    """Turn a written script into a motion, from segments of the library.

    The plan lists the segment of each phrase. To use another segment, write it into the script
    instead of the phrase: TAKE:START-END.
    """
    acted = work.library.act(script)
    plan = [{"segment": str(each), **asdict(each)} for each in acted.plan]
    return _made(work, acted.motion, name, "act", {"plan": plan})


@tool()
def walk(
    work: Workspace,
    path: Annotated[
        list[tuple[float, float]] | None,
        "Points x, z on the floor, in meters, that the walk follows.",
    ] = None,
    settings: WalkSettings | None = None,
    graph: GraphSettings | None = None,
    name: Annotated[str, NAME] = "",
) -> Answer:
    """Walk through the library's motion graph: along a path, to a goal, or at random for a while.

    Restrict the graph to suitable motions, for example graph = {"label": ["walk"]}.
    """
    settings = settings or WalkSettings()
    if path is not None:
        settings = replace(settings, path=path)
    elif settings.random and settings.seconds is None:
        raise InvalidInput("a walk without a path or goal needs settings.seconds")
    motion = work.library.motion_graph(graph).walk(settings)
    return _made(work, motion, name, "walk", {})


@tool(changes=True)
def parametrize(
    work: Workspace,
    query: Annotated[str, "A segment NAME:START-END of the library that shows the action."],
    by: Annotated[list[str], "Parameters, such as right_ankle@33, turn, or highest(head)."],
    name: Annotated[str, NAME],
    examples: FamilySettings | None = None,
    settings: ParametrizeSettings | None = None,
) -> Answer:
    """Learn a parametric motion from the motions similar to a segment, for `aim`.

    The answer has the range of each parameter and some reachable targets. Not every point of the
    ranges can be reached.
    """
    from motionloom.library import segment_query

    parameters = [parameter(text) for text in by]  # built-in ones: no files, no functions
    saved = checked_name(name)
    if saved in set(work.library.parametric):
        raise InvalidInput(f"a parametric motion {saved} exists; choose another name")
    family = work.library.family(segment_query(work.library, query), examples)
    learned = work.library.parametrize(family, parameters, settings, name=saved)
    low, high = learned.accessible.min(axis=0), learned.accessible.max(axis=0)
    return Answer(
        {
            "name": saved,
            "examples": list(learned.examples),
            "parameters": [
                {"axis": axis, "low": round(float(a), 3), "high": round(float(b), 3)}
                for axis, a, b in zip(learned.axes, low, high, strict=True)
            ],
            "reachable_targets": learned.accessible[:: max(1, len(learned.accessible) // 8)]
            .round(3)
            .tolist()[:8],
        }
    )


@tool()
def aim(
    work: Workspace,
    motion: Annotated[str, "Name of a parametric motion."],
    target: Annotated[list[float], "One number per parameter, in meters, seconds or radians."],
    settings: SynthesisSettings | None = None,
    name: Annotated[str, NAME] = "",
) -> Answer:
    """Synthesize a motion that reaches a target, or comes as close to it as possible."""
    learned = work.library.parametric[motion]
    settings = settings or SynthesisSettings()
    result = learned.reach(target, settings)
    details = {
        "target": result.target.tolist(),
        "reached": result.reached.tolist(),
        "error": result.error,
        "within_tolerance": result.error <= settings.tolerance,
    }
    return _made(work, result.motion, name, motion, details)


@tool()
def dance(
    work: Workspace,
    tempo_bpm: Annotated[float | None, "Tempo of the generated tune. [tempo of the takes]"] = None,
    choreography: ChoreographySettings | None = None,
    settings: DanceSettings | None = None,
    name: Annotated[str, NAME] = "",
) -> Answer:
    """Synthesize a dance to a generated tune, from the rhythmic takes of the library."""
    if tempo_bpm is not None and not 30.0 <= tempo_bpm <= 300.0:
        raise InvalidInput(f"tempo_bpm must be from 30 to 300; got {tempo_bpm:g}")
    choreography = choreography or ChoreographySettings()
    settings = settings or DanceSettings()
    seconds = settings.seconds or _DANCE_SECONDS
    steps = work.library.choreography(choreography)
    music = steps.music(TUNE, meter=choreography.meter, tempo_bpm=tempo_bpm, seconds=seconds)
    danced = steps.dance_to(music, settings)
    score = danced.score()
    details = {"beats": score.expected, "beats_within_one_frame": score.matched}
    return _made(work, danced.motions[0], name, "dance", details)


# --- look, keep, undo -------------------------------------------------------------------------


@tool()
def show(
    work: Workspace,
    place: Annotated[str, PLACE],
    frames: Annotated[int, "Number of figures, 1 to 40."] = 8,
    view: Annotated[str, "three-quarter, side, front, back or top."] = "three-quarter",
    body: Annotated[bool, "Draw a body instead of a stick figure."] = False,
) -> Answer:
    """Draw a motion as a film strip."""
    if not 1 <= frames <= 40:
        raise InvalidInput(f"frames must be from 1 to 40; got {frames}")
    motion = work.motion(place)
    return Answer(
        {"frames": len(motion), "fps": motion.fps, "seconds": round(motion.duration, 3)},
        _picture(motion, frames=frames, view=view, body=body),
    )


@tool()
def quality(work: Workspace, place: Annotated[str, PLACE]) -> Answer:
    """Measure a motion: foot slide, floor penetration, jumps, seams; and check it for faults."""
    from motionloom.motion.diagnostics.issues import find_issues
    from motionloom.motion.diagnostics.quality import quality_report

    motion = work.motion(place)
    report = motion.quality or quality_report(motion)
    issues = [
        {"severity": each.severity, "message": each.message, "advice": each.advice}
        for each in find_issues(motion)
    ]
    return Answer({"quality": report.to_json(), "issues": issues})


@tool()
def convert(
    work: Workspace,
    place: Annotated[str, PLACE],
    to: Annotated[str, "Suffix of the format: bvh, glb, fbx, usda, csv, ..."] = "bvh",
    preset: Annotated[str | None, "Conventions of a program: blender, unreal, unity, maya"] = None,
    name: Annotated[str, NAME] = "",
) -> Answer:
    """Write a motion to a new file in the output folder."""
    motion = work.motion(place)
    path = work.write(motion, name or place.replace(":", " ").replace("/", " "), to, preset)
    return Answer({"file": str(path), "bytes": path.stat().st_size, **_sources(motion)})


@tool(changes=True)
def keep(
    work: Workspace,
    made: Annotated[str, "Name of a synthesized motion."],
    labels: Annotated[list[str], "Labels of the new motion."] = [],  # noqa: B006 - not changed
) -> Answer:
    """Add a synthesized motion to the library, under its name."""
    if made not in work.made:
        listed = ", ".join(work.made) or "none"
        raise InvalidInput(f"no synthesized motion is called {made[:80]!r}; there are: {listed}")
    work.library.add_motion(work.made[made], name=made, labels=labels or None)
    return Answer({"name": made, "labels": list(work.library.labels[made])})


@tool(changes=True)
def label(
    work: Workspace,
    place: Annotated[str, "A motion NAME, or a segment NAME:START-END, of the library."],
    labels: Annotated[list[str], "Labels."],
    remove: Annotated[bool, "Remove the labels instead of adding them."] = False,
) -> Answer:
    """Add labels to a motion or to a segment, or remove them."""
    change = work.library.labels.remove if remove else work.library.labels.add
    change(place, *labels)
    return Answer({"place": place, "labels": work.library.labels.counts()})


@tool(changes=True)
def undo(work: Workspace) -> Answer:
    """Undo the latest change to the library. Files in the output folder stay."""
    return Answer({"undone": _change(work.library.undo())})


@tool(changes=True)
def redo(work: Workspace) -> Answer:
    """Redo the change that was undone last."""
    return Answer({"redone": _change(work.library.redo())})


# --- answers ----------------------------------------------------------------------------------


def _made(
    work: Workspace, motion: Motion, name: str | None, usual: str, details: dict[str, Any]
) -> Answer:
    """Keep a synthesized motion, and describe it with its quality, sources and picture."""
    called = work.keep(motion, name, usual)
    quality = motion.quality
    data = {
        "name": called,
        "frames": len(motion),
        "fps": motion.fps,
        "seconds": round(motion.duration, 3),
        **details,
        "quality": quality.to_json() if quality is not None else None,
        **_sources(motion),
    }
    if work.output is not None:
        data["file"] = str(work.write(motion, called, "bvh"))
    return Answer(data, _picture(motion))


def _sources(motion: Motion) -> dict[str, Any]:
    sources = [source.as_dict() for source in motion.sources]
    more = {"more_sources": len(sources) - _MOST_SOURCES} if len(sources) > _MOST_SOURCES else {}
    return {"sources": sources[:_MOST_SOURCES], **more}


def _picture(
    motion: Motion, frames: int = 8, view: str = "three-quarter", body: bool = False
) -> bytes:
    from motionloom.plots.figures.filmstrip import film_strip

    drawn = io.BytesIO()
    film_strip(motion, frames=frames, view=view, body=body).savefig(drawn, format="png", dpi=_DPI)
    return drawn.getvalue()


def _text_match(each: TextMatch) -> dict[str, Any]:
    return {
        "motion": each.motion,
        "start_frame": each.start_frame,
        "end_frame": each.end_frame,
        "start": round(each.start, 3),
        "end": round(each.end, 3),
        "text": each.text,
        "differs": list(each.differs),
    }


def _change(change: Change) -> dict[str, Any]:
    return {"what": change.what, "motions": list(change.names[:20]), "undone": change.undone}


def _in_library(work: Workspace, place: str) -> bool:
    from motionloom.motion.segment import split_segment

    return split_segment(place)[0] in work.library

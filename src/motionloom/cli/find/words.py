"""``motionloom find`` and ``clusters``: text search, and groups of similar takes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument
from motionloom.cli.options import EXPORT, JSON, LIB, TO, check_export, export_clips, open_library
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.errors import InvalidInput
from motionloom.text.settings import ClusterSettings, FindSettings

if TYPE_CHECKING:
    from motionloom.library import Library, TextMatch, TextMatches

_FIRST = 5  # results shown before all motions are described


def find(
    library: Annotated[Path, LIB],
    words: Annotated[list[str], Argument("Description of the motion.", metavar="TEXT")],
    settings: FindSettings,
    *,
    export: Annotated[Path | None, EXPORT] = None,
    to: Annotated[str | None, TO] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find motions that match a description: "right foot kicks high, then turns left".

    Motions whose name or labels contain all words come first. The others are ranked by the events
    they show and by the labels of similar motions. The segment with the events is printed.
    """
    check_export(export, to)
    lib = open_library(library)
    if not len(lib):
        raise InvalidInput(f"{library}: the library is empty; import motions first")
    text = " ".join(words)
    with progress("describing", len(lib), quiet=json) as advance:
        results = lib.find(
            text, settings, progress=advance, so_far=None if json else partial(_so_far, lib)
        )
    if not results and results.unknown:
        unknown = ", ".join(repr(word) for word in results.unknown)
        near = dict.fromkeys(word for each in results.suggestions.values() for word in each)
        advice = "use English words, or words from your labels"
        if near:
            advice = f"did you mean {' or '.join(near)}?"
        raise InvalidInput(f"no motion is described by {unknown}; {advice}")
    # Motions without any of the described events are ranked last, but not dropped.
    shown = [each for each in results if each.sources] or list(results)
    # A motion that neither has these words nor shows the events has no segment to cut; one with
    # the other side does not match.
    clips = [
        each
        for each in shown
        if not each.differs and (not each.whole or {"name", "label"} & set(each.sources))
    ]
    export_clips(lib, clips, export, to, quiet=json)
    if json:
        print_json([_found(lib, each) for each in shown])
        return
    for each in shown:
        print(_line(lib, each))
    for word, used in results.unknown.items():
        similar = " or ".join(results.suggestions.get(word, ()))
        remark(
            f"no motion is described by {word!r}; "
            + (f"{used!r} was used instead" if used else "the word was ignored")
            + (f"; similar words: {similar}" if similar else "")
        )
    remark(f"{counted(len(shown), 'result')} of {counted(len(lib), 'motion')}")


def _so_far(lib: Library, results: TextMatches) -> None:
    """Print the best of the matches that are known before all motions are described."""
    shown = [_line(lib, each) for each in results if each.sources][:_FIRST]
    where = "names, labels and the motions described before"
    remark(f"first results, from {where}:" if shown else f"no results in {where}")
    for line in shown:
        remark(f"  {line}")
    remark("the other motions are described now, once; after Ctrl+C, the next search continues")


def _line(lib: Library, each: TextMatch) -> str:
    place = each.motion if each.whole else str(each)
    text = each.marked_text or ", ".join(lib.labels[each.motion])
    return f"{place}  {text}".rstrip()


def _found(lib: Library, each: TextMatch) -> dict:
    return {
        "motion": each.motion,
        "labels": list(lib.labels[each.motion]),
        "start_frame": each.start_frame,
        "end_frame": each.end_frame,
        "start": round(each.start, 3),
        "end": round(each.end, 3),
        "score": round(each.score, 3),
        "text": each.text,
        "words": list(each.words),
        "sources": list(each.sources),
        "differs": list(each.differs),
    }


def clusters(
    library: Annotated[Path, LIB],
    settings: ClusterSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Group similar takes into clusters, and name each cluster after its captions.

    This gives a first look at takes without labels. For each cluster, largest first, it prints the
    number of takes, the kind, whether the motion is rhythmic, the name, and the most typical takes.
    """
    lib = open_library(library)
    with progress("comparing", settings.steps * len(lib), quiet=json) as advance:
        groups = lib.clusters(settings, progress=advance)
    if json:
        print_json(
            [
                {
                    "name": group.name,
                    "kind": group.kind,
                    "motions": list(group.motions),
                    "seconds": round(group.seconds, 3),
                    "spread": round(group.spread, 3),
                    "rhythmic": group.rhythmic,
                }
                for group in groups
            ]
        )
        return
    for group in groups:
        some = ", ".join(group.motions[:3]) + (", ..." if len(group) > 3 else "")
        rhythm = "rhythm" if group.rhythmic else ""
        print(f"{len(group):5}  {group.kind:<11}{rhythm:<7}{group.name:<20}{some}")
    remark(f"{counted(len(groups), 'cluster')} of {counted(sum(map(len, groups)), 'motion')}")

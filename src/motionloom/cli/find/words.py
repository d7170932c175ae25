"""``motionloom find`` and ``clusters``: motions by words, and what a library holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument
from motionloom.cli.options import EXPORT, JSON, LIB, TO, export_clips, open_library
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.errors import InvalidInput
from motionloom.text.settings import ClusterSettings, FindSettings

if TYPE_CHECKING:
    from motionloom.library import Library, TextMatch


def find(
    library: Annotated[Path, LIB],
    words: Annotated[list[str], Argument("What to look for.", metavar="TEXT")],
    settings: FindSettings,
    *,
    export: Annotated[Path | None, EXPORT] = None,
    to: Annotated[str, TO] = "bvh",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find motions by describing them: "right foot kicks high, then turns left".

    Motions whose name or labels contain all words come first; the others are found by what they
    show, and by words that motions like them are called. The segment with the events is printed.
    """
    lib = open_library(library)
    if not len(lib):
        raise InvalidInput(f"{library}: the library is empty; import motions first")
    text = " ".join(words)
    with progress("describing", len(lib), quiet=json) as advance:
        found = lib.find(text, settings, progress=advance)
    if not found and found.unknown:
        unknown = ", ".join(repr(word) for word in found.unknown)
        raise InvalidInput(
            f"no motion is described by {unknown}; texts are English, or words of your own labels"
        )
    # Motions in which nothing of the text was found are ranked as well, last.
    shown = [each for each in found if each.sources] or list(found)
    # Of a motion that is neither called so nor shows it anywhere there is nothing to cut out.
    clips = [each for each in shown if not each.whole or {"name", "label"} & set(each.sources)]
    export_clips(lib, clips, export, to, quiet=json)
    if json:
        print_json([_found(lib, each) for each in shown])
        return
    for each in shown:
        place = each.motion if each.whole else str(each)
        print("  ".join([place, each.text or ", ".join(lib.labels[each.motion])]).rstrip())
    for word, near in found.unknown.items():
        remark(f"no motion is described by {word!r}" + (f"; {near!r} was looked for" * bool(near)))
    remark(f"{counted(len(shown), 'result')} of {counted(len(lib), 'motion')}")


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
    }


def clusters(
    library: Annotated[Path, LIB],
    settings: ClusterSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Put takes that are alike into clusters, with a name for each from captions.

    For a first look at takes without labels. Prints the number of takes, the kind, whether there is
    a rhythm, the name, and the most typical takes of each cluster, the largest first.
    """
    lib = open_library(library)
    with progress("describing", len(lib), quiet=json) as advance:
        found = lib.clusters(settings, progress=advance)
    if json:
        print_json(
            [
                {
                    "name": one.name,
                    "kind": one.kind,
                    "motions": list(one.motions),
                    "seconds": round(one.seconds, 3),
                    "spread": round(one.spread, 3),
                    "rhythmic": one.rhythmic,
                }
                for one in found
            ]
        )
        return
    for one in found:
        some = ", ".join(one.motions[:3]) + (", ..." if len(one) > 3 else "")
        rhythm = "rhythm" if one.rhythmic else ""
        print(f"{len(one):5}  {one.kind:<11}{rhythm:<7}{one.name:<20}{some}")
    remark(f"{counted(len(found), 'cluster')} of {counted(sum(map(len, found)), 'motion')}")

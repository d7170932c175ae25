"""``motionloom evaluate-captions`` and ``evaluate-sentences``: captions and text search."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, open_library, writes
from motionloom.cli.terminal import print_json, progress
from motionloom.evaluation.settings import CaptionScoreSettings, SentenceSettings


def evaluate_sentences(
    library: Annotated[Path, LIB],
    sentences: Annotated[
        Path, Argument("CSV file with columns take and sentence.", metavar="FILE")
    ],
    settings: SentenceSettings,
    *,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Measure how often text search returns the described take among its first ten results.

    Performers are divided into folds. Each sentence ranks the takes of its fold; words are learned
    from the labels and sentences of the other performers.
    """
    from motionloom.library import evaluate_sentences as score

    lib = open_library(library)
    with progress("describing", len(lib), quiet=json) as advance:
        scores = score(lib, sentences, settings, progress=advance)
    if json:
        print_json(asdict(scores))
        return
    print(f"recall at 10 for {scores.sentences} sentences, among {_among(scores.takes)} takes")
    print(f"captions and learned words  {scores.motion:.3f}")
    print(f"with labels                {scores.with_labels:.3f}")
    print(f"chance                     {scores.chance:.3f}")


def evaluate_captions(
    settings: CaptionScoreSettings,
    *,
    output: Annotated[
        Path | None,
        Option(
            "Write the table to a Markdown file (.md).",
            "-o --output",
            metavar="PAGE",
            check=writes(".md"),
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare captions with labels: recall and precision of each class's expected events.

    Captions follow fixed rules; nothing is learned from the sets.
    """
    from motionloom.evaluation.captions import (
        caption_page,
        chosen_sets,
        score_captions,
        to_json,
        write_caption_page,
    )

    with progress("captioning", len(chosen_sets(settings)), quiet=json) as advance:
        rows = score_captions(settings, advance)
    page = None if output is None else write_caption_page(rows, output)
    if json:
        print_json({"classes": to_json(rows), "page": None if page is None else str(page)})
    else:
        print(caption_page(rows) if page is None else page)


def _among(takes: tuple[int, ...]) -> str:
    return " and ".join(str(count) for count in takes)

"""Figures that pages of the documentation repeat from each other or from stored results."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence"
NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*\d|(?<![\w.])\d")
LIMITS = [
    item
    for item in re.split(r"\n(?=- |#|\*\*)", (EVIDENCE / "limits.md").read_text(encoding="utf-8"))
    if item.startswith("- ") and NUMBER.search(re.sub(r"\]\([^)]*\)", "", item))
]


@pytest.mark.parametrize("item", LIMITS, ids=lambda item: " ".join(item.split())[2:42])
def test_a_figure_of_the_limits_is_on_a_page_that_they_link(item):
    pages = re.findall(r"\]\(([^)#]+\.md)", item)
    text = " ".join((EVIDENCE / page).read_text(encoding="utf-8") for page in pages)
    for number in NUMBER.findall(re.sub(r"\]\([^)]*\)", "", item)):
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", text), (number, pages)


def rows(page: Path) -> dict[str, list[str]]:
    """Rows of the tables of a page, by their first cell; links are reduced to their text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page.read_text(encoding="utf-8"))
    tables = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in tables}


def test_the_comparison_repeats_measured_figures():
    page = rows(EVIDENCE / "comparison.md")
    correct = [page[name][0] for name in ("motionloom", "pybvh 0.9.0", "fairmotion 0.0.4")]
    correct.append(page["Blender 5.0.1"][0])
    assert page["127 unusual BVH files read correctly"][:4] == correct
    assert rows(ROOT / "README.md")["unusual BVH files read correctly, of 127"][:4] == correct
    stored = json.loads((ROOT / "benchmarks" / "results" / "load.json").read_text("utf-8"))
    times = {
        row["rival"].split()[0]: row["ratio"]
        for row in stored["results"]
        if row["what"] == "file to joint positions"
    }
    shown = [float(cell) for cell in page["BVH file to joint positions, relative time"][:3]]
    assert shown == pytest.approx([1.0, times["pybvh"], times["fairmotion"]], rel=0.05)

"""Reproduction of the papers: rules decide outcomes, and the pages show the results."""

import importlib
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from motionloom.errors import InvalidInput
from reproduction import PAPERS
from reproduction.claims import Claim, Paper, not_tested, report
from reproduction.data import Data
from reproduction.page import PAGE, RESULTS, keep, kept, markdown, overview, paper_page

ROOT = Path(__file__).parents[1]
MADE = [
    name for name, module in PAPERS.items() if (ROOT / f"{module.replace('.', '/')}.py").exists()
]


def claim(**changes):
    given = {
        "place": "Figure 5",
        "statement": "EMD finds more than DTW.",
        "paper": {"emd": 0.7},
        "ours": {"emd": 0.85, "dtw": 0.82},
        "rule": "emd > dtw",
        "data": "115 clips",
    }
    return Claim(**{**given, **changes})


def test_the_outcome_is_computed_from_the_figures():
    assert claim().outcome == "holds"
    assert claim(ours={"emd": 0.8, "dtw": 0.82}).outcome == "does not hold"
    assert claim(rule="emd >= paper_emd and abs(emd - dtw) < 0.05").outcome == "holds"
    assert not_tested("Figure 12", "A film.", "no such data").outcome == "not tested"


@pytest.mark.parametrize("rule", ["emd > jrd", "emd >", "open('x')", "__import__('os')"])
def test_a_rule_over_anything_but_the_figures_is_refused(rule):
    with pytest.raises(InvalidInput, match=r"Figure 5: rule"):
        claim(rule=rule)


def test_a_claim_needs_a_rule_or_a_reason():
    with pytest.raises(InvalidInput, match="either a rule or a reason"):
        claim(rule="")
    with pytest.raises(InvalidInput, match="either a rule or a reason"):
        claim(reason="no data")


def paper_module():
    def tables(data):
        yield claim(table=(["method", "score"], [["emd", 0.8512], ["dtw|x", 1234567]]))

    def figures(data):
        data.figure("a.png").write_text("x")
        yield claim(ours={"emd": 0.1, "dtw": 0.82}, picture="a.png", note="Small.")
        yield not_tested("Figure 12", "A film.", "needs CMU")

    return types.SimpleNamespace(
        PAPER=Paper(
            key="kg04",
            slug="kovar-gleicher-2004",
            name="Kovar & Gleicher 2004",
            title="Motions in data sets. SIGGRAPH.",
            summary="It finds similar motions.",
            pages=("explanation/match-webs.md",),
        ),
        PARTS=(tables, figures),
    )


def test_parts_are_run_and_chosen_by_name(capsys):
    made = report(paper_module(), Data())
    assert [each["outcome"] for each in made["claims"]] == [
        "holds", "does not hold", "not tested",
    ]  # fmt: skip
    assert set(made["seconds"]) == {"tables", "figures"}
    assert len(report(paper_module(), Data(), only="tab")["claims"]) == 1
    with pytest.raises(
        InvalidInput, match=r"kg04 has no part named like 'x'\. Its parts: tables, figures"
    ):
        report(paper_module(), Data(), only="x")
    assert "kg04: tables" in capsys.readouterr().err


def test_the_pages_show_every_figure_rule_and_reason(tmp_path):
    keep(report(paper_module(), Data()), tmp_path)
    (result,) = kept(tmp_path)
    first = overview([result])
    assert (
        "| [Kovar & Gleicher 2004](papers/kovar-gleicher-2004.md) | *Motions in data sets* |"
        in (first)
    )
    assert "| 1 | 1 | 1 |" in first
    page = markdown(result)
    assert "# Kovar & Gleicher 2004" in page
    assert "It finds similar motions." in page
    assert "**3 statements**: 1 hold, 1 do not hold, 1 were not tested." in page
    assert "[match webs (explanation)](../../explanation/match-webs.md)" in page
    assert "`emd` 0.85, `dtw` 0.82<br>115 clips | `emd > dtw` | holds |" in page
    assert "<br>Small. | `emd > dtw` | **does not hold** |" in page
    assert "not tested<br>needs CMU |" in page
    assert "| dtw\\|x | 1,234,567 |" in page
    assert "](../../pictures/a.png)" in page
    with pytest.raises(InvalidInput, match="make papers"):
        kept(tmp_path / "nothing")


@pytest.mark.parametrize("name", MADE)
def test_every_part_of_a_paper_has_a_docstring(name):
    module = importlib.import_module(PAPERS[name])
    assert module.PAPER.key == name
    names = [part.__name__ for part in module.PARTS]
    assert len(set(names)) == len(names)
    assert all((part.__doc__ or "").strip() for part in module.PARTS)
    assert all((ROOT / "docs" / page).exists() for page in module.PAPER.pages)


@pytest.mark.skipif(not list(RESULTS.glob("*.json")), reason="no results yet")
def test_the_pages_in_the_docs_are_written_from_the_results():
    results = kept()
    expected = {PAGE: overview(results)} | {paper_page(each): markdown(each) for each in results}
    for path, text in expected.items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is out of date: make papers"
        for picture in re.findall(r"\]\(([./]*pictures/[^)]+)\)", text):
            assert (path.parent / picture).exists(), picture
    for each in results:
        for row in each["claims"]:
            again = Claim(**{key: row[key] for key in row if key not in ("outcome", "table")})
            assert again.outcome == row["outcome"]


@pytest.mark.slow
def test_several_papers_run_in_separate_processes():
    """This also holds for ``python -m``, whose main module worker processes do not import."""
    command = [sys.executable, "-m", "reproduction", "tz07", "kr14", "--jobs", "2"]
    done = subprocess.run(
        [*command, "--only", "no such part"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 2
    assert done.stderr.startswith("reproduction: tz07 has no part named like 'no such part'. Its ")

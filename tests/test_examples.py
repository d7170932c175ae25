"""The notebooks in examples/: they are small, have outputs, and run from the first cell to the
last."""

import importlib.util
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat")

FOLDER = Path(__file__).parents[1] / "examples"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(book, kind):
    return [cell for cell in book.cells if cell.cell_type == kind]


def test_there_are_six():
    assert len(BOOKS) == 6


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_shows_what_it_made(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert path.stat().st_size < 300_000
    assert cells(book, "markdown")[0].source.startswith("# ")
    counts = [cell.execution_count for cell in cells(book, "code")]
    assert counts == list(range(1, len(counts) + 1)), "run: .venv/bin/python examples/run.py"
    outputs = [out for cell in cells(book, "code") for out in cell.outputs]
    assert all(out.output_type != "error" for out in outputs)
    players = [out for out in outputs if "motionloom-player" in str(out.get("data", ""))]
    pictures = [out for out in outputs if "image/png" in out.get("data", {})]
    assert players and len(pictures) >= 2  # code hosts show pictures, and run no player
    assert any("film_strip(" in cell.source for cell in cells(book, "code"))
    assert any("ml.view(" in cell.source for cell in cells(book, "code"))
    assert "widget-view" not in str(outputs) and "widgets" not in book.metadata
    assert "/tmp" not in str(outputs) and "/home" not in str(outputs)


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
    if not (FOLDER.parent / "src/motionloom/studio/static/widget.js").is_file():
        pytest.skip("the stage is not built: python build_page.py")
    spec = importlib.util.spec_from_file_location("run_examples", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = nbformat.read(path, as_version=4)
    book = module.executed(path)

    def texts(notebook):
        outputs = (out for cell in cells(notebook, "code") for out in cell.outputs)
        answer = [out.text for out in outputs if out.get("name") == "stdout"]
        return [re.sub(r"[\d.]+", "#", text) for text in answer]

    assert texts(book) == texts(kept), "run: .venv/bin/python examples/run.py"

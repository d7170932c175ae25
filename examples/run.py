"""Run the example notebooks and save their outputs: ``python examples/run.py [NAME...]``."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def executed(path: Path) -> nbformat.NotebookNode:
    """Execute all cells of a notebook; raises the error of a failing cell."""
    book = nbformat.read(path, as_version=4)
    # Limits of seconds per cell and for the kernel to start: a loaded machine must not reach them.
    client = NotebookClient(
        book, timeout=1800, startup_timeout=600, kernel_name="python3", record_timing=False
    )
    return client.execute(cwd=str(path.parent))


def main(names: list[str]) -> None:
    """Run the named notebooks, or all of them, and write them with their outputs."""
    for path in sorted(HERE.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        book = executed(path)
        for cell in book.cells:
            if cell.cell_type == "code":
                # Warnings of compilers and fonts are of no use to a reader.
                cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
        nbformat.write(book, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])

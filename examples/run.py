"""Run the example notebooks and save their outputs: ``python examples/run.py [NAME...]``."""

import base64
import io
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent


def executed(path: Path) -> nbformat.NotebookNode:
    """Execute all cells of a notebook; raises the error of a failing cell."""
    book = nbformat.read(path, as_version=4)
    # Limits of seconds per cell and for the kernel to start: a loaded machine must not reach them.
    client = NotebookClient(
        book, timeout=1800, startup_timeout=600, kernel_name="python3", record_timing=False,
        store_widget_state=False,
    )  # fmt: skip
    return client.execute(cwd=str(path.parent))


def smaller(png: str) -> str:
    """A PNG picture (base64) with 64 colors."""
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, format="PNG", optimize=True)
    return base64.b64encode(written.getvalue()).decode()


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
                for out in cell.outputs:
                    # Widgets live as long as their kernel; what remains is the small player.
                    data = out.get("data", {})
                    data.pop("application/vnd.jupyter.widget-view+json", None)
                    if "image/png" in data:
                        data["image/png"] = smaller(data["image/png"])
        nbformat.write(book, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Draw search.png: ``python docs/pictures/search.py``."""

import tempfile
from pathlib import Path

import motionloom as ml
from motionloom.plots.figures.filmstrip import write_match_strip

HERE = Path(__file__).parent


def main():
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/takes.loom")
        for performer in (0, 1, 2):
            lib.add_motion(ml.demo.clip("take_strikes", performer=performer))
        actions = ml.demo.annotated("take_strikes").truth.actions
        kick = next(action for action in actions if action.action == "kick")
        query = f"take_strikes_p0:{kick.start_frame}-{kick.end_frame}"
        hits = lib.search(query, max=4)
        rows = [
            (
                f"{'query' if hit.distance == 0.0 else hit.text}   {hit.distance:.3f} m",
                lib[hit.motion][hit.start_frame : hit.end_frame],
            )
            for hit in hits
        ]
        write_match_strip(rows, HERE / "search.png")


if __name__ == "__main__":
    main()

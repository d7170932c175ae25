"""Draw family_sweep.png: ``python docs/pictures/family_sweep.py``."""

import tempfile
from pathlib import Path

import motionloom as ml
from motionloom.library import family_sweep
from motionloom.plots.match_graph import write_sweep

HERE = Path(__file__).parent


def main() -> None:
    """Sizes of the family of a kick, among kicks, punches and walks of two performers."""
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(Path(folder) / "takes.loom")
        for name in ml.demo.names():
            action, performer = name[:-3], int(name[-1])
            if performer in (0, 2) and action.startswith(("kick", "punch", "walk")):
                lib.add_motion(ml.demo.clip(action, performer=performer), name=name)
        sweep = family_sweep(lib, "kick_front_high_right_p0", ml.FamilySettings(max=60))
        print(sweep.plateau, sweep.sizes([sweep.proposed]), len(sweep.limits))
        write_sweep(sweep, HERE / "family_sweep.png")


if __name__ == "__main__":
    main()

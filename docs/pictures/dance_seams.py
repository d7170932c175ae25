"""Draw dance-seams.png: ``python docs/pictures/dance_seams.py CMU BANDAI``.

CMU is a folder with one folder per subject (``005/05_01.bvh``), BANDAI a folder with clips of the
Bandai-Namco data set. Each row shows the second around the worst seam of a dance.
"""

import sys
from pathlib import Path

import numpy as np

import motionloom as ml
from motionloom.dance.choreography import Choreography
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import seam_accelerations
from motionloom.plots.figures.filmstrip import write_match_strip

HERE = Path(__file__).parent
SEEDS = range(3)
DANCES = {
    "CMU 05, modern dance": "005/*.bvh",
    "CMU 49, modern dance": "049/*.bvh",
    "CMU 60, salsa": "060/*.bvh",
    "CMU 61, salsa": "061/*.bvh",
    "CMU 93, Charleston": "093/*.bvh",
    "CMU 94, Indian dance": "094/*.bvh",
}


def worst_second(files):
    """Ratio of the worst seam of several dances, the motion around it, and its takes."""
    steps = Choreography.from_takes([ml.load(file) for file in sorted(files)])
    song, windows = steps.music("tune"), []
    for seed in SEEDS:
        motion = steps.dance_to(song, seed=seed, seconds=30.0).motions[0]
        ratios = seam_accelerations(motion) / steps.accelerations[0]
        half = round(0.5 * motion.fps)
        inner = [k for k, s in enumerate(motion.provenance.seams)
                 if half <= s < len(motion) - half]  # fmt: skip
        k = max(inner, key=lambda n: ratios[n])
        seam = motion.provenance.seams[k]
        windows.append(
            (float(ratios.max()), float(ratios[k]), motion[seam - half : seam + half + 1])
        )
    return max(windows, key=lambda row: row[1])


def main(cmu, bandai):
    rows = []
    sources = {title: Path(cmu).glob(pattern) for title, pattern in DANCES.items()}
    sources["Bandai-Namco, waving"] = Path(bandai).rglob("wave-both-hands_*.bvh")
    for title, files in sources.items():
        try:
            worst, ratio, motion = worst_second(files)
        except InvalidInput as error:
            print(title, error)
            continue
        moved = np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1).max()
        print(
            f"{title}: worst {worst:.2f}, drawn {ratio:.2f}, largest step {moved:.2f} m", flush=True
        )
        rows.append((f"{title}: {ratio:.2f}", motion))
    write_match_strip(rows, HERE / "dance-seams.png", frames=9)


if __name__ == "__main__":
    main(*sys.argv[1:3])

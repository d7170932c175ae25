"""The script that wrote ``library-0.1.zip`` and ``library-0.1.json``; run it with release 0.1 only.

::

    git worktree add ../release-0.1 d9303c0
    PYTHONPATH=../release-0.1/src python tests/golden/make_library.py

The zip file is a library as release 0.1 wrote it, with every kind of artifact that it keeps:
features, principal components, rows of whole clips, a match web, a motion graph with edits, a
parametric motion and a choreography. The JSON file holds what release 0.1 answers on it;
``tests/test_release_0_1.py`` reads both. Later releases must open the library and answer the same.
"""

import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import motionloom as ml

HERE = Path(__file__).parent
MOTIONS = {
    "kick_0": ("kick_front_mid_right_p0", 0, 70, ["kick", "right"]),
    "kick_1": ("kick_front_mid_right_p1", 0, 66, ["kick", "right"]),
    "kick_2": ("kick_front_high_right_p2", 0, 74, ["kick", "right"]),
    "walk_0": ("walk_p0", 0, 100, ["walk"]),
    "walk_1": ("walk_slow_p0", 20, 110, ["walk", "slow"]),
    "groove": ("dance_groove_p0", 0, 226, ["dance"]),
}


def main() -> None:
    """Write both files anew."""
    if ml.__version__ != "0.1.0":
        raise SystemExit(f"this is motionloom {ml.__version__}; the library is one of 0.1.0")
    with tempfile.TemporaryDirectory() as folder:
        library = written(Path(folder) / "library.loom")
        answers = json.dumps(answers_of(library), indent=1)
        packed(library, HERE / "library-0.1.zip")
    (HERE / "library-0.1.json").write_text(answers + "\n", encoding="utf-8")


def written(path: Path) -> Path:
    """The library and all that is kept with it."""
    from motionloom.synthesis.motiongraph.edits import Spot, edit
    from motionloom.synthesis.motiongraph.store import remember
    from motionloom.synthesis.rhythm.choreography_storage import keep_choreography

    with ml.Library.create(path, fps=15) as lib:
        for name, (clip, start, end, labels) in MOTIONS.items():
            lib.add_motion(ml.demo.clip(clip)[start:end], name=name, labels=labels)
        lib.webs.build(within="kick")
        family = lib.family(
            "kick_0:3-33", within="kick", expansion=ml.Expansion(join_distance=0.12)
        )
        lib.parametrize(family, by=ml.at("right_ankle", frame=16), samples=40, name="kick")
        graph = lib.motion_graph(within="walk", per_minute=200.0)
        remember(lib, {"within": ["walk"], "per_minute": 200.0})
        source, target = graph.transitions.source[4], graph.transitions.target[4]
        names = graph.names[source[0]], graph.names[target[0]]
        edit(lib, "remove", Spot(names[0], int(source[1]), names[1], int(target[1])))
        edit(lib, "lock", Spot("walk_0", 35, "walk_0", 17))
        keep_choreography(lib, lib.choreography(meter=4, takes=["groove"]), "groove")
        lib.features("pca8")
        for method in ("dtw", "lazy", "emd", "dtw-clip"):
            lib.search("kick_0:5-30", method=method)
    return path


def answers_of(path: Path) -> dict:
    """What this release answers: `tests.test_release_0_1.answers`, word for word."""
    import sys

    sys.path.insert(0, str(HERE.parent))
    from test_release_0_1 import answers

    copy = path.with_name("copy.loom")
    shutil.copytree(path, copy)
    return answers(copy)


def packed(folder: Path, target: Path) -> None:
    """A zip file of a folder, the same bytes each time."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as out:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            about = zipfile.ZipInfo(f"library.loom/{file.relative_to(folder).as_posix()}")
            about.compress_type = zipfile.ZIP_LZMA
            about.external_attr = 0o644 << 16
            out.writestr(about, file.read_bytes())


if __name__ == "__main__":
    main()

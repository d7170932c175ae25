"""The script that wrote ``library-0.2.zip`` and ``library-0.2.json``; run it with release 0.2 only.

::

    PYTHONPATH=../release-0.2/src python tests/golden/make_library.py

The zip file is a library as release 0.2 wrote it, of clips of the built-in corpus, with the kinds
of artifacts that it keeps: features, their index, principal components, rows of whole clips,
captions, a match web, a motion graph with edits and saved settings, a parametric motion, a
choreography, beats set by hand; and a history with changes that can be undone and one that can be
redone. The JSON file holds what release 0.2 answers on it; ``tests/test_upgrade.py`` reads both.
Later releases must open the library and answer the same.
"""

import json
import shutil
import tempfile
import zipfile
from dataclasses import astuple
from pathlib import Path

import motionloom as ml

HERE = Path(__file__).parent
MOTIONS = {
    "kick_0": ("kick_front_mid_right_p0", 0, 70, ["kick", "right"]),
    "kick_1": ("kick_front_mid_right_p1", 0, 66, ["kick", "right"]),
    "walk_0": ("walk_p0", 0, 100, ["walk"]),
    "walk_1": ("walk_slow_p0", 20, 110, ["walk", "slow"]),
    "groove": ("dance_groove_p0", 0, 200, ["dance"]),
}
QUERY = "kick_0:4-24"


def main() -> None:
    """Write both files anew."""
    if ml.__version__.rpartition(".")[0] != "0.2":
        raise SystemExit(f"this is motionloom {ml.__version__}; the library is one of 0.2")
    with tempfile.TemporaryDirectory() as folder:
        library = written(Path(folder) / "library.loom")
        packed(library, HERE / "library-0.2.zip")
        shutil.copytree(library, copy := Path(folder) / "copy.loom")
        answers = json.dumps(answers_of(copy), indent=1)
    (HERE / "library-0.2.json").write_text(answers + "\n", encoding="utf-8")


def written(path: Path) -> Path:
    """The library and all that is kept with it."""
    with ml.Library.create(path, fps=12) as lib:
        for name, (clip, start, end, labels) in MOTIONS.items():
            lib.add_motion(ml.demo.clip(clip)[start:end], name=name, labels=labels)
        lib.label("walk_0:5-24", "stroll")
        lib.build_web(label="kick")
        family = lib.family("kick_0:2-26", label="kick", max_distance=0.2)
        lib.parametrize(family, by=ml.at("right_ankle", frame=10), samples=9, name="kick")
        lib.parametrize(family, by=ml.at("right_ankle", frame=12), samples=12, name="kick")
        graph = lib.edited_motion_graph(settings := _graph_settings())
        lib.save_graph_settings(settings, fields=["label", "max_distance", "match_feet"])
        transitions = graph.graph.transitions
        source, target = transitions.source[2], transitions.target[2]
        lib.edit_motion_graph("remove", f"walk_0:{source[1]},walk_0:{target[1]}")
        lib.edit_motion_graph("lock", "walk_0:28,walk_0:14")
        lib.save_choreography(lib.choreography(meter=4, takes=["groove"]), "groove")
        lib.set_beats("groove", bpm=96.0, first_beat=0.25)
        lib.set_labels("groove", ["dance", "slow"])
        lib.set_labels("groove", ["dance", "fast"])
        lib.undo()
        lib.find("kick")
        for method in ("dtw", "lazy", "dtw-clip"):
            lib.search(QUERY, method=method)
    return path


def _graph_settings():
    from motionloom.motion_graph.settings import GraphSettings

    return GraphSettings(label=("walk",), max_distance=5.5, match_feet=False)


def answers_of(path: Path) -> dict:
    """What release 0.2 answers."""
    with ml.Library(path) as lib:
        kick = lib.parametric("kick")
        target = [float(value) for value in kick.accessible[1]]
        settings = lib.last_graph_settings
        edits = lib.motion_graph_edits
        given = lib.given_beats()["groove"]
        return {
            "labels": {name: list(lib.labels(name)) for name in lib.names},
            "segments": [[str(part), label] for part, label in lib.segment_labels("walk_0")],
            "features": rows(lib.features("e15").rows),
            **{f"search {method}": hits(lib.search(QUERY, method=method))
               for method in ("dtw", "lazy", "dtw-clip")},
            "search web": hits(lib.search(QUERY, method="web", label="kick")),
            "find": [item.motion for item in lib.find("kick")],
            "parametric": {
                "names": list(lib.parametric_names),
                "examples": list(kick.examples),
                "accessible": rows(kick.accessible),
                "target": target,
                "motion": outline(kick(target)),
            },
            "graph settings": {
                "label": list(settings.label), "max_distance": settings.max_distance,
                "match_feet": settings.match_feet,
            },
            "graph": len(lib.edited_motion_graph(settings).graph),
            "edits": {"removed": [list(astuple(first)) for first in edits.removed],
                      "locked": [list(astuple(first)) for first in edits.locked]},
            "choreography": lib.saved_choreography("groove").as_dict()["cuts"],
            "beats": [given.bpm, given.first_beat],
            "history": [[str(change), change.undone] for change in lib.history()],
        }  # fmt: skip


def hits(matches) -> list:
    """Where matches are, and how far."""
    return [[m.motion, m.start_frame, m.end_frame, float(m.distance)] for m in matches]


def outline(motion) -> dict:
    """A few numbers that tell one motion from another."""
    every = max(1, len(motion) // 6)
    positions = motion.positions()[::every, ::6].astype(float).round(5).tolist()
    return {"frames": len(motion), "fps": motion.fps, "positions": positions}


def rows(values) -> dict:
    """The shape of an array, and its first and last rows."""
    return {
        "shape": list(values.shape),
        "ends": [[round(float(value), 5) for value in row] for row in (values[0], values[-1])],
    }


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

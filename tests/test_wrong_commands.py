"""Wrong command lines as a newcomer types them: one line that says what to do, and exit code 2."""

import pytest
from commands import error_lines, ran

import motionloom as ml


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder after a first import: takes, a library, and other files."""
    folder = tmp_path_factory.mktemp("wrong")
    with ml.Library.create(folder / "takes.loom") as lib:
        for name in ("walk", "kick_front_mid_right_p0"):
            lib.add_motion(ml.demo.clip(name), name=name)
        lib.labels["walk"] = ["gait"]
    ml.demo.clip("walk")[:40].save(folder / "walk.bvh")
    (folder / "empty").mkdir()
    for name, text in {
        "notes.txt": "hello",
        "empty.bvh": "",
        "empty.xml": "",
        "film.mp4": "no film",
        "broken.bvh": "HIERARCHY\nROOT Hips\n{\n",
        "song.mid": "no music",
        "labels.json": "{",
        "labels.csv": "name,label\n\udcff",
    }.items():
        (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return folder


# Command line, and the text that the message must contain.
WRONG = {
    # a word of the command line
    "inof walk.bvh": "did you mean info; see motionloom --help",
    "info": "Missing argument 'FILE|LIB|LIB:NAME'; see motionloom info --help",
    "info walk.bvh walk.bvh": "unexpected extra argument (walk.bvh)",
    "info walk.bvh --jsno": "--json",
    "search takes.loom walk --maxx 3": "--max",
    "search takes.loom walk:73": "write a range of frames as walk:START-END, of seconds as",
    "convert takes.loom:walk:-5-40 a.bvh": "of seconds as walk:1.5s-4s",
    "search takes.loom walk --to fbx": "--to requires --export DIR",
    "search takes.loom walk --max 0": "max must be at least 1; got 0",
    "search takes.loom walk --max many": "max must be a whole number; got 'many'",
    "search takes.loom walk --method dtww": "method must be one of dtw,",
    "graph takes.loom frob": "action must be one of build,",
    "web takes.loom frob": "web expects the word build or the names of two motions",
    "match takes.loom export": "match export needs -o FOLDER",
    "match takes.loom": "Missing argument 'ACTION'",
    # files
    "info wlak.bvh": "did you mean walk.bvh",
    "info takes.lom": "did you mean takes.loom",
    "info broken.bvh": "broken.bvh:3: the hierarchy lacks 1 closing brace(s)",
    "info empty.bvh": "the file is empty",
    "info notes.txt": "unknown suffix '.txt'; expected one of .bvh,",
    "info empty": "is a folder; name one of its files",
    "info walk.bvh --fps -3": "fps must be positive",
    "convert walk.bvh": "IN... OUT",
    "convert walk.bvh walk.xyz": "the suffix must be one of .bvh",
    "convert walk.bvh out.fbx --preset unrel": "preset must be one of blender, unreal,",
    "show walk.bvh -o walk.xyz": "the suffix must be one of .png",
    "show walk.bvh --frames many -o a.png": "frames must be a whole number; got 'many'",
    "clean walk.bvh -o walk.bvh/clean.bvh": "expected a folder, found a file",
    "convert walk.bvh a.csv --character g1.xml": "g1.xml: No such file or directory",
    "convert walk.bvh a.csv --character walk.bvh": (
        "the suffix of a character file must be one of .glb, .gltf, .vrm, .fbx, .xml,"
    ),
    "convert walk.bvh a.pkl --character empty.xml": "empty.xml:1: the XML cannot be read",
    "convert walk.bvh a.npy --to glb": "--to glb writes .glb files, but the output is a.npy",
    "convert walk.bvh a.npy --to humanml": "humanml3d, amass, opensim; got 'humanml'",
    # ranges
    "info walk.bvh:30-10": "the start must come before the end",
    "info walk.bvh:10..30": "walk.bvh:START-END",
    "search takes.loom walk:10-5000": "the range must lie within the motion's",
    # libraries, motions and labels
    "search nosuch.loom walk": "create it with `motionloom import`",
    "search walk.bvh walk.bvh": "motionloom import NEW.loom walk.bvh",
    "studio empty": "empty: no motion files (expected .bvh,",
    "studio takes.loom --token a --no-token": "--token and --no-token cannot be combined",
    "label takes.loom --import labels.json": "labels.json: not a valid JSON file",
    "label takes.loom --import labels.csv": "must be UTF-8 text; byte 11 is invalid",
    "search takes.loom wlak": "did you mean walk?",
    "show takes.loom": "name one of its motions, as in takes.loom:NAME",
    "label takes.loom wlak gait": "did you mean walk?",
    "search takes.loom walk --label jump": (
        "no motion is labeled 'jump'; labels in this library: gait"
    ),
    "walk takes.loom --label jump --seconds 5 -o a.bvh": "labels in this library: gait",
    "import takes.loom": "Missing argument 'PATH...'",
    "import takes.loom empty": "no motion files (expected .bvh,",
    "import takes.loom notes.txt": "expected one of .bvh,",
    "import takes.loom wlak.bvh": "no such file or folder",
    "import takes.loom walk.bvh --labels foldr": "labels must be 'folder', 'pattern:REGEX' or",
    # synthesis
    "walk takes.loom --seconds -5 -o a.bvh": "seconds must be positive",
    "walk takes.loom --seconds 5 -o a.xyz": "the suffix must be one of .bvh",
    "synthesize takes.loom kick --at 1,2,3 -o a.bvh": "no parametric motion is called 'kick'",
    "synthesize takes.loom kick -o a.bvh": "Missing option '--at'",
    "dance takes.loom nosuch.mid -o a.bvh": "name another file, or write tune",
    "clean walk.bvh --repairs foot -o a.bvh": "a repair must be one of sides, gaps, flips,",
    "clean walk.bvh": "Missing option '-o' / '--output'; see motionloom clean --help",
    "dance takes.loom tune --seconds -3 -o a.bvh": "seconds must be greater than 0; got -3",
    "act takes.loom flibbertigibbet -o a.bvh": "use an action",
    "search takes.loom film.mp4": "the file is not a film in an MP4, MOV, WebM, Matroska or AVI",
    "search takes.loom no.mp4": "there is also no file named no.mp4",
    "show takes.loom -o a.html": "name one of its motions, as in takes.loom:NAME",
    # pages, engines, training sets, assistants and streams
    "match takes.loom export --to web": "match export needs -o FOLDER",
    "match takes.loom export --to wbe -o a.web": (
        "format must be one of godot, unity, unreal, web, glb, fbx, orangeduck; got 'wbe'"
    ),
    "match takes.loom export --to web -o walk.bvh": "walk.bvh is not a folder",
    "match takes.loom export --to web -o a.web --character no.glb": "no.glb: No such file",
    "export takes.loom a.set --to training-st": "godot, unity, unreal, training-set",
    "export takes.loom a.set --to training-set --takes none": (
        "takes must be a whole number; got 'none'"
    ),
    "export takes.loom walk.bvh --to training-set": "is not empty; choose a new folder",
    "export takes.loom a.set --to godot --character walk.bvh": (
        "the suffix of a character file must be"
    ),
    "agent nosuch.loom": "nosuch.loom: no such library; create it with `motionloom import`",
    "agent takes.loom --mmcp 99999": "mmcp must be from 0 to 65535; got 99999",
    "agent takes.loom --mmcp 0 -o a.out": "--output cannot be used",
    "walk takes.loom --seconds 5 -o vmc://here:port": "with a port from 1 to 65535; got",
    "studio a.loom --stream vmc://here:port": "with a port from 1 to 65535; got",
    "studio a.loom --stream here": "a stream must be vmc://HOST:PORT",
    "studio a.loom --port 99999": "port must be from 0 to 65535; got 99999",
    "evaluate takes.loom --methods mine.py:f": "there is no file mine.py; a method in a file is",
    "evaluate takes.loom --methods notes.txt:f": (
        "there is no clip measure 'notes.txt'; choose from statistics,"
    ),
    "evaluate takes.loom --methods mine.py": "name a function of mine.py, as in mine.py:NAME",
    "evaluate takes.loom -o a.docx": "choose a suffix: .pdf, .svg, .png, .tex, .csv",
    "evaluate takes.loom": "Label more clips (motionloom label), or set labels to",
    "parametrize takes.loom walk --by left_wrist@10 --name a": "Use a larger join_distance",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_line_says_what_to_do(line, folder):
    done = ran(*line.split(), cwd=folder)
    said = error_lines(done.stderr)
    assert done.returncode == 2, done.stderr
    assert len(said) == 1, said
    assert said[0].startswith("motionloom: ")
    assert WRONG[line] in said[0]
    assert done.stdout == ""
    assert not list(folder.glob("a.*"))


@pytest.mark.parametrize(
    ("line", "module", "extra"),
    [
        ("studio a.loom", "starlette", "studio"),
        ("convert walk.bvh walk.usda", "pxr", "usd"),
        ("convert walk.bvh walk.parquet", "pyarrow", "parquet"),
        ("import takes.loom walk.bvh --cluster tcp://127.0.0.1:1", "distributed", "cluster"),
        ("import cloud.loom walk.bvh --store s3://bucket/takes", "fsspec", "cloud"),
        ("dance takes.loom song.wav -o a.bvh", "librosa", "audio"),
    ],
)
def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    line, module, extra, folder, monkeypatch
):
    import sys

    (folder / "song.wav").write_bytes(b"RIFF")
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("motionloom.studio")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    done = ran(*line.split(), cwd=folder)
    assert done.returncode == 2, done.stderr
    assert len(error_lines(done.stderr)) == 1, done.stderr
    assert f"pip install 'motionloom[{extra}]'" in done.stderr
    assert not list(folder.glob("a.*"))  # nothing was begun

"""Wrong arguments are refused before anything slow starts, in all commands and requests."""

from contextlib import contextmanager

import click
import pytest
from commands import error_lines, ran
from studio_takes import studio_client

import motionloom as ml
from motionloom.cli import COMMANDS, app


class Work:
    """Record of slow parts: takes and files that were read, and kernels that compared motions."""

    def __init__(self):
        self.takes, self.files, self.kernels = set(), [], []

    def __bool__(self):
        # One take or one file may be read, to check joints or frames of a query.
        return len(self.takes) + len(self.files) > 1 or bool(self.kernels)

    def __repr__(self):
        return f"{len(self.takes)} takes, {len(self.files)} files, kernels {self.kernels[:5]}"


@contextmanager
def watched(monkeypatch):
    """Record slow parts that run inside the block."""
    from motionloom.formats import registry
    from motionloom.kernels import Kernel
    from motionloom.store import stored_motions

    work = Work()
    read, call, get = registry._read, Kernel.__call__, stored_motions.StoredMotions.__getitem__

    def reading(path, *rest):
        work.files.append(path)
        return read(path, *rest)

    def calling(self, *args):
        if not self.__module__.startswith(("motionloom.motion.", "motionloom.formats.")):
            work.kernels.append(self.__name__)
        return call(self, *args)

    def getting(self, name):
        motion = get(self, name)
        work.takes.add(name)
        return motion

    with monkeypatch.context() as patch:
        patch.setattr(registry, "_read", reading)
        patch.setattr(Kernel, "__call__", calling)
        patch.setattr(stored_motions.StoredMotions, "__getitem__", getting)
        yield work


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    names = ("walk", "jog", "dance_groove", "kick_front_mid_right_p0", "kick_front_mid_right_p1")
    with ml.Library.create(folder / "takes.loom") as lib:
        for name in names:
            lib.add_motion(ml.demo.clip(name), name=name)
    (folder / "takes").mkdir()
    for name in names:
        ml.demo.clip(name)[:40].save(folder / "takes" / f"{name}.bvh")
    (folder / "song.mid").write_bytes(b"MThd")
    (folder / "song.wav").write_bytes(b"RIFF")
    (folder / "points.csv").write_text("x,z\n0,0\n")
    return folder


# Wrong option at the end of a command line that would otherwise take long, and the message.
LATE = {
    "search takes.loom walk --export out --to roblox": "motions cannot be written as 'roblox'",
    "search takes.loom walk --sheet a.png": "suffix must be one of .html",
    "search takes.loom walk --strip a.txt": "suffix must be one of .png, .pdf",
    "search takes.loom walk --features e99": "no distance is called 'e99'",
    "search takes.loom walk --label jump": "labeled 'jump'",
    "family takes.loom walk --export out --to roblox": "motions cannot be written as 'roblox'",
    "family takes.loom walk -o a.txt": "suffix must be one of .png",
    "family takes.loom walk --sweep a.txt": "suffix must be one of .png",
    "family takes.loom walk --graphml a.txt": "suffix must be one of .graphml",
    "find takes.loom walk --export out --to roblox": "motions cannot be written as 'roblox'",
    "clusters takes.loom --fineness -1": "fineness must be",
    "clusters takes.loom --label jump": "labeled 'jump'",
    "web takes.loom walk jog -o a.txt": "suffix must be one of .png",
    "web takes.loom walk jgo -o a.png": "did you mean jog",
    "parametrize takes.loom kick_front_mid_right_p0 --by right_ankel@30": "right_ankel",
    "parametrize takes.loom kick_front_mid_right_p0 --by right_ankle@3000": "frame 3000",
    "parametrize takes.loom kick_front_mid_right_p0 --by flight": "parameter 'flight' is unknown",
    "parametrize takes.loom kick_front_mid_right_p0 --by right_ankle@30 --picture a.x": "suffix",
    "parametrize takes.loom kick_front_mid_right_p0 --by right_ankle@30 -o a.x": "suffix",
    "synthesize takes.loom kick --at 1,2,3 -o a.x": "suffix must be one of",
    "synthesize takes.loom kick --at one -o a.bvh": "no parametric motion",
    "graph takes.loom build --distance far": "no distance is called 'far'",
    "graph takes.loom picture -o a.x": "writes files ending in",
    "graph takes.loom export -o a.x": "writes files ending in",
    "graph takes.loom picture -o a.png --pair walk": "--pair must name two motions",
    "graph takes.loom picture -o a.png --pair walk,jgo": "did you mean jog",
    "graph takes.loom build --only jgo": "did you mean jog",
    "walk takes.loom --seconds 5 -o a.x": "suffix must be one of .bvh",
    "walk takes.loom --seconds 5 -o a.bvh --log a.x": "suffix must be .csv",
    "walk takes.loom --seconds 5 -o a.bvh --inspect a.x": "suffix must be one of .png",
    "walk takes.loom -o a.bvh": "needs a duration",
    "walk takes.loom --path nosuch.csv -o a.bvh": "nosuch.csv",
    "walk takes.loom --start jgo:10 --seconds 5 -o a.bvh": "did you mean jog",
    "fat-graph takes.loom -o a.x": "suffix must be one of .bvh",
    "fat-graph takes.loom --steer left -o a.bvh": "--steer must be",
    "match takes.loom walk -o a.x": "suffix must be one of .bvh",
    "match takes.loom walk -o a.bvh --inspect a.x": "suffix must be one of .png",
    "match takes.loom export --to roblox -o out": "roblox",
    "match takes.loom courses --course loop": "loop",
    "match takes.loom coverage -o a.x": "match coverage needs -o FILE.html",
    "match takes.loom fill --pose walk@soon --pose jog@2 -o a.bvh": "--pose must be",
    "beats takes.loom:walk -o a.x": "suffix must be one of .png",
    "movements takes.loom -o a.x": "suffix must be one of .json",
    "movements takes.loom --add a:b": "FROM:TO:LIKELIHOOD",
    "movements takes.loom --takes nosuch": "nosuch",
    "dance takes.loom tune -o a.x": "suffix must be one of",
    "dance takes.loom song.mid -o a.bvh": "song.mid",
    "dance takes.loom song.wav -o a.bvh": "song.wav",
    "dance takes.loom tune --onto nosuch.bvh -o a.bvh": "nosuch.bvh",
    "dance takes.loom tune --takes nosuch -o a.bvh": "nosuch",
    "ballroom takes.loom -o a.x": "suffix must be one of .glb",
    "ballroom takes.loom -o a.glb --top-view a.x": "suffix must be one of .png",
    "ballroom takes.loom -o a.glb --takes walk+nosuch": "nosuch",
    "march takes.loom -o a.bvh": "suffix must be one of .glb",
    "march takes.loom -o a.glb --inspect a.x": "suffix must be one of .png",
    "dancefloor takes.loom -o a.bvh": "suffix must be one of .glb",
    "dancefloor takes.loom -o a.glb --floor big": "floor must be WIDTHxDEPTH",
    "act takes.loom walk -o a.x": "suffix must be one of",
    "reconstruct takes.loom takes/walk.bvh -o a.x": "suffix must be one of",
    "reconstruct takes.loom takes/walk.bvh -o a.bvh --features e99": "no feature set is called",
    "clean takes -o a.bvh": "must also be a folder",
    "clean takes/walk.bvh -o a.x": "suffix must be one of",
    "convert takes out --to roblox": "--to must be one of",
    "convert takes out --preset unrel": "preset must be one of",
    "convert takes out --onto nosuch.bvh": "nosuch.bvh",
    "export takes.loom out --to roblox": "motions cannot be written as 'roblox'",
    "export takes.loom out --cut halves": "cut must be one of",
    "export takes.loom out --preset unrel": "preset must be one of",
    "export takes.loom takes": "not empty",
    "import takes.loom takes --labels foldr": "labels must be",
    "show takes/walk.bvh -o a.x": "suffix must be one of .png",
    "show takes/walk.bvh --view under": "view must be one of",
    "sheet takes.loom -o a.png": "suffix must be one of .html",
    "doctor takes --html a.x": "suffix must be one of .html",
    "label takes.loom --export a.x": "suffix must be one of .csv",
    "evaluate takes.loom --methods dtww": "dtww",
    "evaluate takes.loom -o takes/walk.bvh": "a report is a folder",
    "evaluate-reconstruct takes.loom": "no motions to reconstruct",
    "evaluate-reconstruct takes.loom --motions jgo": "did you mean jog",
    "evaluate-reconstruct takes.loom --motions jog --lose tail": "tail",
    "evaluate-captions -o a.x": "suffix must be .md",
    "evaluate-sentences takes.loom nosuch.csv": "nosuch.csv",
    "study takes.loom -o a.x": "suffix must be one of .png",
}


@pytest.mark.parametrize("line", LATE)
def test_a_wrong_option_is_refused_before_the_work(line, folder, monkeypatch):
    before = {path for path in folder.rglob("*") if "takes.loom" not in path.parts}
    with watched(monkeypatch) as work:
        done = ran(*line.split(), cwd=folder)
    assert done.returncode == 2, done.stderr
    assert LATE[line] in error_lines(done.stderr)[-1]
    assert not work, work
    after = {path for path in folder.rglob("*") if "takes.loom" not in path.parts}
    assert after == before


# Commands without slow work, or whose only slow work is reading the one file they are given.
QUICK = {"info", "undo", "verify", "trust", "studio", "demo", "agent", "cluster", "warm-up"}


def test_every_command_with_slow_work_is_tested():
    assert {line.split()[0] for line in LATE} == {*COMMANDS} - QUICK


def test_every_output_file_is_checked_before_the_work():
    # Folders are created, and these commands check their output together with other arguments.
    folders = {"--export", "--bvh", "--fix"}
    together = {("graph", "-o"), ("match", "-o"), ("clean", "-o"), ("convert", "-o"),
                ("evaluate", "-o"), ("agent", "-o")}  # fmt: skip
    with click.Context(app) as context:
        for name in COMMANDS:
            for option in _output_options(app.get_command(context, name)):
                elsewhere = option.opts[0] in folders or (name, option.opts[0]) in together
                assert elsewhere or _refuses(name, option), (name, option.opts)


def _output_options(command):
    for option in command.params:
        words = (option.help or "") if isinstance(option, click.Option) else ""
        writes = {"-o", "--output"} & {*option.opts} or "(.png" in words
        if isinstance(option.type, click.Path) and writes:
            yield option


def _refuses(name, option):
    """Whether some tested line gives this option a wrong file name."""
    lines = [line.split() for line in LATE if line.split()[0] == name]
    return any({*option.opts} & {*words} for words in lines)


# Requests that start a job, with one wrong value, and the message.
REQUESTS = {
    "clusters": ({"settings": {"label": "jump"}}, "labeled 'jump'"),
    "families/grow": ({"query": "wlak:0-30"}, "did you mean walk"),
    "graphs": ({"settings": {"distance": "far"}}, "no distance is called 'far'"),
    "graphs/walks": ({"graph": {}, "settings": {"start": "jgo:3", "seconds": 2}}, "mean jog"),
    "matching": ({"settings": {"label": "jump"}}, "labeled 'jump'"),
    "matching/coverage": ({"settings": {"label": "jump"}}, "labeled 'jump'"),
    "parametric": ({"query": "walk:0-30", "name": "a", "by": ["tail@3"]}, "tail"),
    "search/web": ({"query": "walk:0-30", "settings": {"method": "dtw"}}, "web"),
    "exports": ({"clips": [{"motion": "jgo", "start_frame": 0, "end_frame": 9}]}, "mean jog"),
    "dance/choreographies": ({"takes": [["jgo"]]}, "mean jog"),
    "dance/rehearsals": ({"choreography": "none", "music": "none"}, "no longer available"),
    "movements": ({"name": "a", "settings": {"label": "jump"}}, "labeled 'jump'"),
    "crowds": ({"kind": "march", "label": "jump"}, "labeled 'jump'"),
    "subjects/films": ({"subject": {"kind": "segment", "motion": "jgo"}}, "mean jog"),
}


@pytest.mark.parametrize("place", REQUESTS)
def test_a_wrong_request_is_refused_before_a_job_starts(place, folder, monkeypatch):
    body, message = REQUESTS[place]
    with ml.Library(folder / "takes.loom") as lib, studio_client(lib, token=None) as client:
        with watched(monkeypatch) as work:
            response = client.post(f"/api/{place}", json=body)
        assert 400 <= response.status_code < 500, response.text
        assert message in response.text
        assert client.get("/api/jobs").json() == []
        assert not work, work

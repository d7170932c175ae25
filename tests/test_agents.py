"""An agent uses a library through the Model Context Protocol, and nothing else."""

import base64
import json
import os
import sys

import anyio
import pytest

import motionloom as ml
from motionloom.agents import tools  # noqa: F401 - registers the tools
from motionloom.agents.tool import TOOLS
from motionloom.agents.workspace import Workspace, checked_name
from motionloom.errors import InvalidInput, MotionloomError

mcp = pytest.importorskip("mcp")

KINDS = ("walk", "walk_left", "kick_front_mid_right", "kick_front_high_right")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("agent") / "takes.loom"
    with ml.Library.create(path) as made:
        for kind in KINDS:
            for performer in (0, 1):
                made.add_motion(ml.demo.clip(kind, performer=performer), labels=[kind[:4]])
    return path


@pytest.fixture
def work(library, tmp_path):
    (tmp_path / "out").mkdir()
    with ml.Library(library) as opened:
        yield Workspace(opened, tmp_path / "out")


def call(work, name, **arguments):
    return TOOLS[name](work, arguments)


# --- through the protocol ----------------------------------------------------------------------


async def _talk(server):
    """Find, act, aim, label and undo, as an agent would; return the answers."""
    from mcp.client.client import Client

    said = {}
    async with Client(server) as client:
        said["tools"] = (await client.list_tools()).tools
        for key, name, arguments in [
            ("info", "info", {}),
            ("find", "find", {"text": "kick high", "settings": {"max": 3}}),
            ("act", "act", {"script": "walk 2 s, kick with the right foot", "name": "scene"}),
            (
                "learned",
                "parametrize",
                {
                    "query": "kick_front_mid_right_p0:0-70",
                    "by": ["right_ankle@33"],
                    "name": "kick",
                    "settings": {"samples": 20},
                    "examples": {"label": ["kick"]},
                },
            ),
            ("label", "label", {"place": "walk_p0", "labels": ["calm"]}),
            ("undo", "undo", {}),
            ("wrong", "find", {"text": ""}),
            ("unknown", "delete_everything", {}),
        ]:
            said[key] = await client.call_tool(name, arguments)
        target = said["learned"].structured_content["reachable_targets"][-1]
        said["aim"] = await client.call_tool("aim", {"motion": "kick", "target": target})
    return said


def test_an_agent_finds_acts_aims_and_undoes(work):
    from motionloom.agents.server import agent_server

    said = anyio.run(_talk, agent_server(work))
    assert {each.name for each in said["tools"]} == set(TOOLS)
    assert said["info"].structured_content["motions"] == 2 * len(KINDS)
    assert said["find"].structured_content["results"][0]["motion"].startswith("kick_front_high")
    scene = said["act"].structured_content
    assert scene["name"] == "scene"
    assert scene["sources"]
    assert scene["quality"] is not None
    assert base64.b64decode(said["act"].content[1].data).startswith(b"\x89PNG")
    assert len(ml.load(scene["file"])) == scene["frames"]
    assert json.loads(said["aim"].content[0].text)["within_tolerance"]
    assert said["undo"].structured_content["undone"]["what"] == "label"
    assert "calm" not in work.library.labels.counts()
    assert said["wrong"].is_error
    assert said["wrong"].content[0].text == "text must contain at least one word"
    assert said["unknown"].is_error
    # The parametric motion was the change before.
    assert call(work, "undo").data["undone"]["what"] == "save parametric motion kick"
    assert "kick" not in list(work.library.parametric)


def test_the_command_serves_on_standard_input_and_output(library):
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

    async def talk():
        command = [sys.executable, "-m", "motionloom", "agent", str(library)]
        server = StdioServerParameters(
            command=command[0], args=command[1:], env={**os.environ, "NO_COLOR": "1"}
        )
        async with Client(server) as client:
            info = await client.call_tool("info", {"names_like": "walk_p*"})
            refused = await client.call_tool("convert", {"place": "walk_p0"})
        return info, refused

    info, refused = anyio.run(talk)
    assert [each["name"] for each in info.structured_content["names"]] == ["walk_p0", "walk_p1"]
    assert refused.is_error
    assert "start it with --output DIR" in refused.content[0].text


# --- what tools do -----------------------------------------------------------------------------


def test_a_walk_follows_a_path_and_is_kept_on_request(work):
    made = call(work, "walk", path=[[0, 0], [0, 4]], graph={"label": ["walk"]}).data
    assert made["name"] == "walk"
    assert set(work.made) == {"walk"}
    call(work, "keep", made="walk", labels=["generated"])
    assert work.library.labels["walk"] == ("generated",)
    assert call(work, "undo").data["undone"]["motions"] == ["walk"]
    assert "walk" not in work.library


def test_a_made_motion_can_be_searched_shown_measured_and_converted(work):
    work.keep(ml.demo.clip("walk", performer=0), "stroll", "walk")
    assert call(work, "search", query="stroll:10-50").data["matches"][0]["motion"] == "walk_p0"
    assert call(work, "show", place="stroll:0.5s-1s", frames=2).picture.startswith(b"\x89PNG")
    assert "foot_slide_m" in call(work, "quality", place="stroll").data["quality"]
    first = call(work, "convert", place="stroll", to="glb").data["file"]
    again = call(work, "convert", place="stroll", to="glb").data["file"]
    assert [os.path.basename(first), os.path.basename(again)] == ["stroll.glb", "stroll_2.glb"]


def test_names_are_never_reused(work):
    walk = ml.demo.clip("walk")
    assert [work.keep(walk, "walk_p0", "walk") for _ in range(2)] == ["walk_p0_2", "walk_p0_3"]


# --- what tools refuse -------------------------------------------------------------------------


HOSTILE = [
    ("convert", {"place": "walk_p0", "name": "../escape"}, "a name may have letters"),
    ("convert", {"place": "walk_p0", "name": "/tmp/escape"}, "a name may have letters"),
    ("convert", {"place": "walk_p0", "to": "/../x"}, "the format must be a suffix"),
    ("convert", {"place": "walk_p0", "to": "exe"}, "exe"),
    ("show", {"place": "/etc/passwd"}, "passwd"),
    ("search", {"query": "../../walk.bvh"}, "walk.bvh"),
    ("act", {"script": "walk, " * 2000}, "at most 2000 characters"),
    ("act", {"script": "walk\x1b[31m 3 s"}, "printable text"),
    ("find", {"text": "x", "settings": {"max": 10**9}}, "max must be at most 1000"),
    ("find", {"text": "x", "settings": {"workers": 64}}, "workers cannot be set in a request"),
    ("walk", {"settings": {"path": "/etc/passwd"}}, "path cannot be set in a request"),
    ("walk", {"path": [[0, 0], [1e9, 0]]}, "within 10 km"),
    ("walk", {"path": [[0, 0], [float("nan"), 0]]}, "path"),
    ("walk", {}, "needs settings.seconds"),
    ("walk", {"graph": {"transitions": "/tmp/x.mogra"}}, "transitions cannot be set"),
    (
        "parametrize",
        {"query": "walk_p0:0-40", "by": ["os:system"], "name": "x"},
        "os:system",
    ),
    ("parametrize", {"query": "walk_p0:0-40", "by": ["/etc/passwd.csv"], "name": "x"}, "passwd"),
    ("aim", {"motion": "../x", "target": [0.0]}, "x"),
    ("show", {"place": "walk_p0", "frames": 10**6}, "from 1 to 40"),
    ("show", {"place": "walk_p0", "frames": True}, "frames must be of type integer"),
    ("label", {"place": "walk_p0", "labels": "calm"}, "labels must be a list"),
    ("keep", {"made": "nothing"}, "no synthesized motion"),
    ("info", {"extra": 1}, "has no argument 'extra'"),
    ("find", {}, "needs the argument text"),
    ("show", {"place": None}, "needs the argument place"),
    ("aim", {"motion": "kick", "target": [10**400]}, "must be a number up to"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), HOSTILE)
def test_hostile_arguments_are_refused_in_one_line(work, name, arguments, message):
    before = sorted(os.listdir(work.library.path))
    with pytest.raises(MotionloomError, match=message) as refused:
        TOOLS[name](work, arguments)
    assert "\n" not in str(refused.value)
    assert os.listdir(work.output) == []
    assert sorted(os.listdir(work.library.path)) == before


def test_a_link_in_the_output_folder_is_not_followed(work, tmp_path):
    target = tmp_path / "precious.bvh"
    target.write_text("precious")
    (work.output / "stroll.bvh").symlink_to(target)
    (work.output / "gone.bvh").symlink_to(tmp_path / "missing.bvh")
    for name in ("stroll", "gone"):
        written = work.write(ml.demo.clip("walk"), name, "bvh")
        assert written.name == f"{name}_2.bvh"
    assert target.read_text() == "precious"
    assert not (tmp_path / "missing.bvh").exists()


def test_memory_and_files_are_bounded(work, monkeypatch):
    from motionloom.agents import workspace

    monkeypatch.setattr(workspace, "_KEPT", 2)
    monkeypatch.setattr(workspace, "_MOST_FILES", 1)
    walk = ml.demo.clip("walk")
    for name in "abc":
        work.keep(walk, name, "walk")
    assert list(work.made) == ["b", "c"]
    work.write(walk, "a", "bvh")
    with pytest.raises(InvalidInput, match="at most 1 files may be written"):
        work.write(walk, "a", "bvh")


def test_names_of_files_are_plain():
    assert checked_name("CON") == "_CON"
    for wrong in ("", "a/b", "a\\b", "..", "a" * 81, "x\n"):
        with pytest.raises(InvalidInput, match="a name m"):
            checked_name(wrong)


def test_the_schemas_are_short_enough_for_a_model():
    sizes = {name: len(json.dumps(tool.schema)) for name, tool in TOOLS.items()}
    assert max(sizes.values()) < 8000, sizes
    assert sum(sizes.values()) < 30_000, sizes

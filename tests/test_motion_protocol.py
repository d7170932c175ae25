"""A library answers requests of MMCP, read by the client of its SDK."""

import json
import socket
import threading

import numpy as np
import pytest
import uvicorn

import motionloom as ml
from motionloom.errors import InvalidInput

http = pytest.importorskip("motionmcp.client").http

TOKEN = "a-token"
FRAMES = 40


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = ml.Library.create(tmp_path_factory.mktemp("mmcp") / "takes.loom")
    for kind in ("walk", "walk_left", "kick_front_mid_right"):
        made.add_motion(ml.demo.clip(kind))
    return made


@pytest.fixture(scope="module")
def address(library):
    from motionloom.agents.motion_protocol import motion_app

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # connections wait until the server has started
    server = uvicorn.Server(uvicorn.Config(motion_app(library, TOKEN), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def request(address, **parts):
    model = http.pick_model(http.get_capabilities(address, access_token=TOKEN))
    body = {
        "protocol_version": "1.0",
        "model": model["id"],
        "skeleton": model["canonical_skeleton"],
        "segments": [{"type": "text", "prompt": "A person walks.", "duration_frames": FRAMES}],
    }
    return body | parts


def generated(address, tmp_path, **parts):
    body = http.generate(address, request(address, **parts), access_token=TOKEN)
    path = tmp_path / "made.gltf"
    path.write_text(json.dumps(body))
    return ml.load(path)


def test_a_prompt_becomes_motion_of_the_library(address, library, tmp_path):
    made = generated(address, tmp_path)
    acted = library.act(f"A person walks {FRAMES / 30:.2f} s").motion
    assert len(made) == FRAMES
    same = min(FRAMES, len(acted))
    hips = made.role_positions(["hips", "left_ankle"])[:same]
    assert hips == pytest.approx(acted.role_positions(["hips", "left_ankle"])[:same], abs=1e-4)


def test_motion_arrives_on_the_skeleton_of_the_client(address, tmp_path):
    body = request(address)["skeleton"]
    joints = []
    for each in body["joints"]:
        above = each["parent"] and f"rig:{each['parent']}"
        longer = [1.2 * value for value in each["rest_translation"]]
        names = {"name": f"rig:{each['name']}", "parent": above}
        joints.append({**each, **names, "rest_translation": longer})
    made = generated(address, tmp_path, skeleton={"joints": joints})
    assert set(made.skeleton.names) == {each["name"] for each in joints}
    original = generated(address, tmp_path)
    tall = np.median(made.role_positions(["head"])[:, 0, 1])
    assert tall == pytest.approx(
        1.2 * np.median(original.role_positions(["head"])[:, 0, 1]), rel=0.1
    )


def test_a_path_is_walked(address, tmp_path):
    path = {"type": "root_path", "frames": [0, 59], "positions_xz": [[0, 0], [0, 2]]}
    made = generated(address, tmp_path, segments=[], duration_frames=60, constraints=[path])
    travel = made.role_positions(["hips"])[-1, 0] - made.role_positions(["hips"])[0, 0]
    assert len(made) == 60
    assert travel[2] > 1.0
    assert abs(travel[0]) < 0.5


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"segments": [{"type": "text", "prompt": "xyzzy", "duration_frames": 9}]}, "xyzzy"),
        (
            {"segments": [{"type": "text", "prompt": "walk", "duration_frames": 10**6}]},
            "duration|most|exceed",
        ),
        ({"timing": {"fps": 5000}}, "rate must be 1 to 240 fps"),
        (
            {
                "segments": [],
                "duration_frames": 60,
                "constraints": [
                    {"type": "root_path", "frames": [0, 59], "positions_xz": [[0, 0], [0, 1e7]]}
                ],
            },
            "within 10 km",
        ),
        (
            {
                "skeleton": {
                    "joints": [
                        {
                            "name": "x",
                            "rest_translation": [0, 0, 0],
                            "rest_rotation": [0, 0, 0, 1],
                        }
                    ]
                }
            },
            "cannot retarget",
        ),
    ],
)
def test_requests_that_cannot_be_met_are_refused(address, parts, message):
    with pytest.raises(http.MmcpError, match=message):
        http.generate(address, request(address, **parts), access_token=TOKEN)


def test_a_token_is_required(address):
    for token in (None, "", "wrong"):
        with pytest.raises(http.MmcpError, match="401"):
            http.get_capabilities(address, access_token=token, use_cache=False)


def test_pages_in_a_browser_are_refused(address):
    import urllib.request

    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        asked = urllib.request.Request(
            f"{address}/capabilities", headers={"Authorization": f"Bearer {TOKEN}", **headers}
        )
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(asked)


def test_an_empty_library_is_refused(tmp_path):
    from motionloom.agents.motion_protocol import LibraryModel

    with pytest.raises(InvalidInput, match="the library is empty"):
        LibraryModel(ml.Library.create(tmp_path / "empty.loom"))


def test_websockets_are_refused(library):
    import anyio

    from motionloom.agents.motion_protocol import motion_app

    sent = []

    async def send(message):
        sent.append(message["type"])

    anyio.run(motion_app(library, TOKEN), {"type": "websocket", "headers": []}, None, send)
    assert sent == ["websocket.close"]

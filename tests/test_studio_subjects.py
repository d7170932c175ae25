"""The subject on the stage: as a file, saved as a take, and labeled."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml

SEGMENT = {"kind": "segment", "motion": "walk", "start_frame": 10, "end_frame": 40}


@pytest.fixture
def library(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(ml.demo.clip("walk"), name="walk", labels=["gait"])
    return lib


@pytest.fixture
def client(library):
    with studio_client(library) as client:
        yield client


@pytest.mark.parametrize("suffix", ["bvh", "glb", "fbx", "usd"])
def test_a_segment_is_downloaded_as_a_file(client, library, tmp_path, suffix):
    answer = client.post("/api/subjects/file", json={"subject": SEGMENT, "suffix": suffix})
    file = tmp_path / f"part.{suffix}"
    file.write_bytes(answer.content)
    here = library["walk"][10:40].positions()
    np.testing.assert_allclose(ml.load(file).positions(), here, atol=2e-3)


def test_a_segment_is_kept_as_a_take(client, library):
    request = {"subject": SEGMENT, "name": "stroll", "labels": ["short"]}
    assert client.post("/api/subjects/keep", json=request).json() == {"names": ["stroll"]}
    assert library.labels["stroll"] == ("short",)
    np.testing.assert_allclose(
        library["stroll"].positions(), library["walk"][10:40].positions(), atol=1e-5
    )
    again = client.post("/api/subjects/keep", json=request)
    assert again.status_code == 422
    assert "stroll already exists in this library; choose another name" in again.json()["error"]


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ({**SEGMENT, "end_frame": 9999}, "the range must be within the motion's"),
        ({**SEGMENT, "start_frame": 40}, "got 40 to 40"),
        ({**SEGMENT, "motion": "nothing"}, "nothing"),
        ({"kind": "crowd", "id": "none"}, "this crowd is no longer available"),
        ({"kind": "song"}, "kind"),
    ],
)
def test_a_subject_that_is_not_there_is_refused(client, subject, message):
    answer = client.post("/api/subjects/file", json={"subject": subject})
    assert answer.status_code in (404, 422) and message in answer.text


def test_a_segment_is_labeled(client, library):
    place = {"places": ["walk:10-40"], "label": "left turn"}
    labeled = {"labels": {"walk": ["gait"]}}
    assert client.post("/api/library/labels", json=place).json() == labeled
    assert [(str(part), label) for part, label in library.labels.segments("walk")] == [
        ("walk:10-40", "left turn")
    ]
    client.post("/api/library/labels", json={**place, "remove": True})
    assert not library.labels.segments("walk")
    given = {"places": ["walk"], "label": "slow"}
    assert client.post("/api/library/labels", json=given).json() == {
        "labels": {"walk": ["gait", "slow"]}
    }


def test_a_film_is_drawn_as_a_job(client):
    job = client.post("/api/subjects/films", json={"subject": SEGMENT}).json()
    client.app.state.studio.jobs.wait(job["id"])
    done = client.get(f"/api/jobs/{job['id']}").json()
    assert done["state"] == "done", done["error"]
    film = client.get(f"/api/subjects/films/{done['result']['id']}")
    assert film.content[:6] == b"GIF89a" and film.headers["content-type"] == "image/gif"
    gone = client.get("/api/subjects/films/none")
    assert gone.status_code == 422 and "draw it again" in gone.json()["error"]


def test_saving_labeling_renaming_and_removing_are_undone(client, library):
    for name in ("a", "b"):
        client.post("/api/subjects/keep", json={"subject": SEGMENT, "name": name})
    before = library.store.digest()
    client.post("/api/library/labels", json={"places": ["a", "b"], "label": "pile"})
    assert client.post("/api/library/rename", json={"name": "a", "new": "c "}).json() == {}
    client.post("/api/library/remove", json={"names": ["b", "c"]})
    assert library.names == ("walk",)
    said = [client.post("/api/library/undo").json()["text"] for _ in range(3)]
    assert said == ["remove b, c", "rename a, c", "label a, b"] and library.store.digest() == before
    assert client.get("/api/library/history").json()[2] == {"text": "label a, b", "undone": True}
    assert client.post("/api/library/redo").json() == {"text": "label a, b", "undone": False}
    assert library.labels.motions("pile") == ("a", "b")
    for _ in range(4):
        answer = client.post("/api/library/undo")
    assert answer.status_code == 200 and library.names == ()
    nothing = client.post("/api/library/undo")
    assert nothing.status_code == 404 and "there is nothing to undo" in nothing.json()["error"]

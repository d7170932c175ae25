"""Clusters and rhythms over HTTP."""

import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("clusters") / "takes.loom")
    for name in ("walk", "walk_fast", "kick_front_high_right", "kick_front_mid_right"):
        lib.add_motion(ml.demo.clip(name), name=name)
    with studio_client(lib) as client:
        yield client


def result(client, path, body=None):
    job = client.post(path, json=body or {}).json()
    client.app.state.studio.jobs.wait(job["id"])
    done = client.get(f"/api/jobs/{job['id']}").json()
    assert done["state"] == "done", done["error"]
    return done


def test_clusters_have_names_and_takes(client):
    done = result(client, "/api/clusters")
    assert {each["name"] for each in done["result"]} == {"walk", "kick right"}
    assert done["done"] == done["total"] == 12  # captions, distances and tempos of each take
    settings = {"only": ["walk", "walk_fast"], "fineness": 9.0}
    two = result(client, "/api/clusters", {"settings": settings})
    assert [sorted(each["motions"]) for each in two["result"]] == [["walk", "walk_fast"]]
    wrong = client.post("/api/clusters", json={"settings": {"fineness": 0.0}})
    assert wrong.status_code == 422


def test_takes_with_a_rhythm_have_a_tempo(client):
    results = result(client, "/api/rhythms")["result"]
    assert set(results) == {"walk", "walk_fast"} and 60 < results["walk"] < results["walk_fast"]
    assert result(client, "/api/rhythms")["result"] == results

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
    quick = result(client, "/api/clusters", {"settings": {"names": False}})
    assert [each["motions"] for each in quick["result"]] == [
        each["motions"] for each in done["result"]
    ]
    assert quick["done"] == quick["total"] == 4
    settings = {"only": ["walk", "walk_fast"], "fineness": 9.0}
    two = result(client, "/api/clusters", {"settings": settings})
    assert [sorted(each["motions"]) for each in two["result"]] == [["walk", "walk_fast"]]
    wrong = client.post("/api/clusters", json={"settings": {"fineness": 0.0}})
    assert wrong.status_code == 422


def test_takes_with_a_rhythm_have_a_tempo(client):
    results = result(client, "/api/rhythms")["result"]
    assert set(results) == {"walk", "walk_fast"} and 60 < results["walk"] < results["walk_fast"]
    assert result(client, "/api/rhythms")["result"] == results


def test_the_same_takes_and_settings_start_one_job(client):
    jobs = client.app.state.studio.jobs
    first = result(client, "/api/clusters")
    count = len(jobs.all())
    again = client.post("/api/clusters", json={}).json()
    assert (again["id"], again["state"], again["result"]) == (first["id"], "done", first["result"])
    assert len(jobs.all()) == count
    client.app.state.studio.library.labels.add("walk", "stroll")
    assert client.post("/api/clusters", json={}).json()["id"] == first["id"]  # labels do not matter


def test_takes_are_analyzed_once_in_the_background_until_takes_change(client):
    state = client.app.state.studio
    titles = ["describing motions", "grouping takes into clusters", "detecting rhythm"]

    def analysis():
        rows = client.post("/api/library/analysis", json={}).json()
        assert [row["title"] for row in rows] == titles
        for row in rows:
            state.jobs.wait(row["id"])
        return [row["id"] for row in rows]

    first = analysis()
    assert analysis() == first
    assert all(row["result"] is None for row in client.get("/api/jobs").json())  # it is polled
    state.library.add_motion(ml.demo.clip("jog"), name="jog")
    state.notify("motions")
    assert set(analysis()).isdisjoint(first)
    state.library.remove("jog")
    state.notify("motions")


def test_clusters_say_how_they_differ(client):
    groups = {each["motions"][0]: each for each in result(client, "/api/clusters")["result"]}
    walk = next(each for each in groups.values() if each["name"] == "walk")
    kick = next(each for each in groups.values() if each["name"] == "kick right")
    assert walk["speed"] > 0.8 > kick["speed"]
    assert abs(walk["turn"]) < 20 and "walk" not in walk["events"]

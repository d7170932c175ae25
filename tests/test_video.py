"""Films: reading them, landmarks to motions, and other files."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from commands import error_lines, ran

import motionloom as ml
from benchmarks.films import Shot, camera_of, write_film
from motionloom.errors import MissingExtra, MotionFormatError
from motionloom.formats import video
from motionloom.formats.child_process import video as script
from motionloom.formats.conventions import Repairs
from motionloom.motion.positions.layouts import layout_named

av = pytest.importorskip("av", reason="the extra video is not installed")
pytest.importorskip("ai_edge_litert", reason="the extra video is not installed")
if not (video.MODELS / video.LANDMARKS).is_file():
    pytest.skip("the page with the networks is not built", allow_module_level=True)

SHOT = Shot(yaw=0.6, fps=25.0, size=(320, 240), shutter=0.0, fill=0.6, detail="low")
JOINTS = [
    f"{side}_{part}"
    for part in ("hip", "shoulder", "elbow", "wrist", "knee", "ankle")
    for side in ("left", "right")
]


@pytest.fixture(scope="module")
def kick():
    return ml.demo.clip("kick_front_mid_right").resample(25.0)[:30]


@pytest.fixture(scope="module")
def film(tmp_path_factory, kick):
    path = tmp_path_factory.mktemp("films") / "kick.mp4"
    write_film(kick, SHOT, path)
    return path


@pytest.fixture(scope="module")
def estimate(film):
    return ml.load(film)


def around_hips(motion, axes=None):
    places = motion.role_positions(JOINTS).astype(float)
    places = places - places[:, :2].mean(axis=1, keepdims=True)
    return places if axes is None else places @ axes.T


def seen_from(camera):
    """Right, up, and toward the camera."""
    ahead = camera.axes[2] * (1.0, 0.0, 1.0)
    ahead /= np.linalg.norm(ahead)
    return np.stack([np.cross(ahead, (0.0, 1.0, 0.0)), (0.0, 1.0, 0.0), -ahead])


def test_a_film_becomes_a_motion_near_the_truth(kick, estimate):
    assert (len(estimate), estimate.fps, estimate.name) == (len(kick), 25.0, "kick")
    assert estimate.origin.format == "video"
    real = around_hips(kick, seen_from(camera_of(kick, SHOT)))
    off = np.linalg.norm(around_hips(estimate) - real, axis=2)
    assert np.median(off) < 0.15
    lowest = estimate.positions(end_sites=True)[..., 1].min()
    assert -0.06 < lowest < 0.1


def test_a_film_states_its_error_and_its_use(kick, estimate):
    error = np.array(estimate.origin.expected_error)
    assert error.shape == (len(estimate),) and (error > 0.01).all() and (error < 0.5).all()
    assert estimate[5:15].origin.expected_error == estimate.origin.expected_error[5:15]
    assert video.USE in estimate.origin.warnings


def test_a_film_is_imported_with_its_error_only_if_it_is_named(tmp_path, film, estimate):
    (tmp_path / "takes").mkdir()
    (tmp_path / "takes" / "reference.mp4").write_bytes(film.read_bytes())
    ml.demo.clip("walk").save(tmp_path / "takes" / "walk.bvh")
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add(tmp_path / "takes")
    assert list(lib.names) == ["walk"]
    lib.add(film)
    assert lib["kick"].origin.expected_error == estimate.origin.expected_error
    assert lib["kick"].origin.warnings == estimate.origin.warnings


def test_a_film_finds_the_action(tmp_path, film):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "kick_front_mid_right", "jump_up", "reach_front_high_left"):
        lib.add_motion(ml.demo.clip(name))
    assert lib.search(film)[0].motion == "kick_front_mid_right_p0"
    hits = json.loads(ran("search", tmp_path / "takes.loom", film, "--json").stdout)
    assert hits[0]["motion"] == "kick_front_mid_right_p0"


def test_info_states_the_use_of_a_film(film):
    said = " ".join(ran("info", film).stdout.split())
    assert "good for search and blocking, not for final animation" in said
    assert "cm" in said
    assert json.loads(ran("info", film, "--json").stdout)["expected_error_m"] > 0.0


# --- landmarks ------------------------------------------------------------------------------------


def landmarks(motion, camera, width=480.0):
    """Exact landmarks of a motion; points that a skeleton lacks are at the nearest joint."""
    layout = layout_named("mediapipe")
    near = {"eye": "head", "nose": "head", "ear": "head", "mouth": "head", "pinky": "wrist",
            "index": "wrist", "thumb": "wrist", "heel": "ankle", "toe": "foot"}  # fmt: skip
    roles = []
    for point in layout.points:
        side, _, part = point.partition("_")
        part = next((near[word] for word in near if word in point), part)
        roles.append(part if part == "head" else f"{side}_{part}")
    places = camera.seen(motion.role_positions(roles).astype(float))
    hips = camera.seen(motion.role_positions(["left_hip", "right_hip"]).astype(float)).mean(axis=1)
    image = camera.focal / width * places[..., :2] / places[..., 2:]
    return places - hips[:, None], image, np.ones(places.shape[:2])


def test_exact_landmarks_give_the_pose_and_the_way(tmp_path):
    walk = ml.demo.clip("walk")
    shot = Shot(yaw=0.8, pitch=0.0, view=video._VIEW)
    camera = camera_of(walk, shot)
    motion = video.landmark_motion(
        *landmarks(walk, camera), fps=walk.fps, repairs=Repairs(tmp_path / "walk.mp4")
    )
    real = around_hips(walk, seen_from(camera))
    assert np.median(np.linalg.norm(around_hips(motion) - real, axis=2)) < 0.02
    way = motion.root[-10].astype(float) - motion.root[10]
    true_way = seen_from(camera) @ (walk.root[-10].astype(float) - walk.root[10])
    assert np.linalg.norm(way - true_way) < 0.05 * np.linalg.norm(true_way) + 0.03


def test_frames_without_a_person_are_filled_or_cut_off(tmp_path):
    walk = ml.demo.clip("walk")
    camera = camera_of(walk, Shot(view=video._VIEW))
    world, image, seen = landmarks(walk, camera)
    for part in (slice(0, 5), slice(40, 44)):
        world[part] = image[part] = np.nan
    motion = video.landmark_motion(
        world, image, seen, fps=30.0, repairs=Repairs(tmp_path / "walk.mp4")
    )
    assert len(motion) == len(walk) - 5 and np.isfinite(motion.positions()).all()
    assert any("5 frames without a person" in text for text in motion.repairs)
    assert any("gaps" in text for text in motion.repairs)
    world[1:] = np.nan
    with pytest.raises(MotionFormatError, match="visible in fewer than two frames"):
        video.landmark_motion(world, image, seen, fps=30.0, repairs=Repairs(tmp_path / "a.mp4"))


def test_a_square_is_cut_as_by_the_definition(rng):
    image = rng.integers(0, 255, (40, 50, 3)).astype(np.uint8)
    square = np.array([24.0, 19.0, 18.0, 0.4])
    cut = script._cut(image, square, 8)
    for row in range(8):
        for column in range(8):
            x, y = (column + 0.5) / 8 - 0.5, (row + 0.5) / 8 - 0.5
            px = 24.0 + 18.0 * (np.cos(0.4) * x - np.sin(0.4) * y) - 0.5
            py = 19.0 + 18.0 * (np.sin(0.4) * x + np.cos(0.4) * y) - 0.5
            c, r = int(px), int(py)
            value = sum(
                wy * wx * image[r + dy, c + dx].astype(float)
                for dy, wy in ((0, 1 - (py - r)), (1, py - r))
                for dx, wx in ((0, 1 - (px - c)), (1, px - c))
            )
            assert np.allclose(cut[row, column], value / 255.0, atol=1e-5)


# --- no film of a person --------------------------------------------------------------------------


def film_of(path, pictures, times=None, codec="libx264"):
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        stream.time_base = Fraction(1, 25)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = number if times is None else times[number]
            frame.time_base = Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def cat():
    """A drawing of a cat: body, head, ears, legs and tail."""
    y, x = np.mgrid[0:120, 0:160]
    image = np.full((120, 160, 3), 200, np.uint8)
    fur = ((x - 80) / 38.0) ** 2 + ((y - 66) / 16.0) ** 2 < 1
    fur |= ((x - 122) / 14.0) ** 2 + ((y - 50) / 13.0) ** 2 < 1
    fur |= (np.abs(x - 114) + np.abs(y - 38) < 8) | (np.abs(x - 130) + np.abs(y - 38) < 8)
    for leg in (52, 62, 98, 108):
        fur |= (np.abs(x - leg) < 4) & (y > 66) & (y < 100)
    fur |= (np.abs(x - 40 + (y - 50) / 3) < 3) & (y > 25) & (y < 66)
    image[fur] = (90, 70, 50)
    return image


def test_a_film_without_a_person_is_refused_in_one_line(tmp_path):
    for name, picture in (("empty", np.full((120, 160, 3), 128, np.uint8)), ("cat", cat())):
        path = film_of(tmp_path / f"{name}.mp4", [picture] * 4)
        with pytest.raises(MotionFormatError, match="no person was found in the film") as error:
            ml.load(path)
        assert "\n" not in str(error.value)


def test_a_film_of_two_hours_is_refused(tmp_path, film):
    gray = np.full((120, 160, 3), 128, np.uint8)
    path = film_of(tmp_path / "long.mp4", [gray] * 3, times=[0, 25, 2 * 3600 * 25])
    with pytest.raises(MotionFormatError, match="120 minutes long; at most 5 minutes are read"):
        ml.load(path)
    with pytest.raises(MotionFormatError, match="no person"):
        ml.load(path, partial=True)
    done = ran("info", path)
    assert done.returncode == 2 and len(error_lines(done.stderr)) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.mp4", b"", "the file is empty"),
        ("b.mp4", b"#EXTM3U\n/etc/passwd\n", "not a film in an MP4"),
        ("c.webm", b"\x1a\x45\xdf\xa3" + bytes(60), "PyAV and LiteRT cannot read this file"),
    ],
)
def test_other_files_are_refused(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MotionFormatError, match=said):
        ml.load(tmp_path / name)


def test_a_broken_codec_is_refused(tmp_path, film):
    data = bytearray(film.read_bytes())
    start = data.index(b"mdat") + 8
    end = data.find(b"moov") if data.find(b"moov") > start else len(data)
    data[start : end - 8] = np.random.default_rng(0).bytes(end - 8 - start)
    (tmp_path / "broken.mp4").write_bytes(data)
    with pytest.raises(MotionFormatError, match=r"no frame can be decoded \(codec h264\)"):
        ml.load(tmp_path / "broken.mp4")


def test_two_people_give_a_warning(tmp_path, film):
    pictures = []
    for number, picture in enumerate(av.open(str(film)).decode(video=0)):
        if number % 8 == 0:
            person = picture.to_ndarray(format="rgb24")[:, 80:240]
            pictures.append(np.concatenate([person, person], axis=1))
    with av.open(str(tmp_path / "two.mp4"), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    motion = ml.load(tmp_path / "two.mp4")
    assert any("2 people; the largest one was followed" in text for text in motion.origin.warnings)


def test_a_missing_extra_is_named(monkeypatch, film):
    monkeypatch.setattr(video, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[video\]'"):
        ml.load(film)
    monkeypatch.undo()
    monkeypatch.setattr(video, "MODELS", film.parent)
    with pytest.raises(MissingExtra, match=r"build_page\.py"):
        ml.load(film)


def test_options_are_checked(film):
    with pytest.raises(ml.errors.InvalidInput, match="reading film has no option 'unit'"):
        ml.load(film, unit="cm")

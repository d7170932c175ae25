"""Matching databases as files of other programs, read back by readers that share no code."""

import ast
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from naive import matching_files as naive
from scipy.spatial.transform import Rotation

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.motion_matching.exports import engines
from motionloom.motion_matching.exports.databases import PARENTS, ROLES


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")[:60]


@pytest.fixture(scope="module")
def database(walk):
    return matching_database([walk], MatchingSettings(mirror=False, fps=60))


def world(places, turns, parents, left_handed=False):
    """World positions of bones from local ones, by SciPy."""
    at, turned = [], []
    for place, turn, parent in zip(places, turns, parents, strict=True):
        xyzw = turn if left_handed else [*turn[1:], turn[0]]
        own = Rotation.from_quat(xyzw)
        if parent < 0:
            at.append(np.array(place))
            turned.append(own)
        else:
            at.append(at[parent] + turned[parent].apply(place))
            turned.append(turned[parent] * own)
    return np.array(at)


def test_orangeduck_files_have_the_same_poses_and_features(database, tmp_path):
    files = database.export(tmp_path, "orangeduck")
    assert [file.name for file in files] == ["database.bin", "features.bin"]
    read = naive.orangeduck_database(files[0])
    assert read["parents"] == list(PARENTS) and len(read["positions"][0]) == 23
    assert read["starts"][0] == 0 and read["stops"][-1] == len(database)
    motion = database.motion(database.ranges[0])
    for frame in (0, 17, 63):
        bones = world(read["positions"][frame], read["rotations"][frame], read["parents"])
        for bone, role in enumerate(ROLES):
            if role is not None and role in motion.skeleton.roles:
                expected = motion.role_positions([role])[frame, 0]
                np.testing.assert_allclose(bones[bone], expected, atol=1e-5)
        assert bones[0][1] == 0.0  # the simulation bone is on the floor
        feet = database.contacts[frame].reshape(2, 2).any(axis=1)
        assert read["contacts"][frame] == feet.astype(int).tolist()
    hips = np.array([frame[1] for frame in read["positions"]])[:60]
    speeds = np.array([frame[1] for frame in read["velocities"]])[1:59]
    np.testing.assert_allclose(speeds, 30.0 * (hips[2:60] - hips[:58]), atol=1e-3)
    features, offset, scale = naive.orangeduck_features(files[1])
    plain = np.array(features) * scale + offset
    np.testing.assert_allclose(plain, database.features, atol=1e-4)


def test_orangeduck_needs_60_frames_per_second(walk, tmp_path):
    slow = matching_database([walk], MatchingSettings(mirror=False))
    with pytest.raises(InvalidInput, match="with 60 frames per second; this one has 30"):
        slow.export(tmp_path, "orangeduck")


def test_unity_files_are_the_mirror_image_of_the_poses(database, tmp_path):
    files = database.export(tmp_path, "unity")
    joints = naive.unity_skeleton(files[0])
    skeleton = database.skeleton
    assert [name for name, *_ in joints] == ["SimulationBone", *skeleton.names]
    types = {name: kind for name, *_, kind in joints}
    assert types[skeleton.roles["hips"]] == 0 and types[skeleton.roles["right_foot"]] == 20
    clips, poses, tags = naive.unity_poses(files[1])
    assert clips[0][2] == pytest.approx(1 / 60) and len(poses) == len(database)
    parents = [-1, *(parent for _, _, parent, *_ in joints[1:])]
    expected = database.motion(database.ranges[0]).positions() * [-1.0, 1.0, 1.0]
    for frame in (0, 40):
        places, turns, left, right = poses[frame]
        bones = world(places, turns, parents, left_handed=True)
        np.testing.assert_allclose(bones[1:], expected[frame], atol=1e-5)
        assert (left, right) == tuple(database.contacts[frame].reshape(2, 2).any(axis=1))
    for name, parts in tags.items():
        mask = np.zeros(len(database), bool)
        for start, stop in parts:
            mask[start:stop] = True
        np.testing.assert_array_equal(mask, database.tag(name))
    normal, about, rows = naive.unity_features(files[2])
    assert [name for name, *_ in about][:2] == ["FuturePosition", "FutureDirection"]
    valid = np.array([flag for flag, _ in rows], bool)
    np.testing.assert_array_equal(valid, database.searchable)
    mean, scale = np.array(normal).T
    plain = np.array([row for _, row in rows]) * scale + mean
    np.testing.assert_allclose(plain[:, 1], database.features[:, 16], atol=1e-4)  # z
    np.testing.assert_allclose(plain[:, 0], -database.features[:, 15], atol=1e-4)  # x
    np.testing.assert_allclose(plain[:, 13], database.features[:, 1], atol=1e-4)  # height


@pytest.mark.parametrize("suffix", ["glb", "fbx"])
def test_takes_with_a_root_bone_look_the_same(database, tmp_path, suffix):
    if suffix == "fbx":
        pytest.importorskip("ufbx")
    files = database.export(tmp_path, suffix)
    assert files[-1].name == "import_into_unreal.py"
    ast.parse(files[-1].read_text())
    assert all(f"'{file.name}'" in files[-1].read_text() for file in files[:-1])
    whole = ml.load(files[0], keep_carrier=True)
    names = list(whole.skeleton.names)
    assert names[0] == "root"
    np.testing.assert_allclose(whole.positions()[:, 0, 1], 0.0, atol=1e-5)
    expected = database.motion(database.ranges[0]).positions()
    joints = [names.index(name) for name in database.skeleton.names]
    np.testing.assert_allclose(whole.positions()[:, joints], expected, atol=1e-3)


def test_every_take_has_its_own_file_on_every_system(tmp_path, monkeypatch):
    names = ("a/walk", "a_walk", "a walk", "A_Walk", "CON", "...", "kick")
    parts = [SimpleNamespace(name=name, mirrored=False) for name in names]
    pose = ml.demo.clip("walk")[:1]
    monkeypatch.setattr(
        engines, "with_root_bone", lambda database, part: replace(pose, name=part.name)
    )
    files = engines.write_engine(SimpleNamespace(ranges=parts), tmp_path)[:-1]
    assert sorted(path.name for path in tmp_path.glob("*.glb")) == sorted(f.name for f in files)
    assert len({file.name.casefold() for file in files}) == len(names)
    stems = [file.stem for file in files]
    assert stems[:5] == ["a_walk", "a_walk_2", "a_walk_3", "A_Walk_4", "_CON"]
    script = (tmp_path / engines.SCRIPT).read_text()
    assert all(f"{file.name!r}," in script for file in files)


def test_unknown_formats_and_invalid_folders_are_rejected(database, tmp_path):
    with pytest.raises(InvalidInput, match="one of orangeduck, unity, glb, fbx; got 'maya'"):
        database.export(tmp_path, "maya")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InvalidInput, match="file is not a folder"):
        database.export(file, "unity")


@pytest.mark.parametrize("version", ["5.0", "5.2", "5.5"])
def test_the_script_for_unreal_fills_a_database(database, tmp_path, version):
    """Run against a module with the names of Unreal's documentation, and no others."""
    files = database.export(tmp_path, "glb")
    editor = Unreal(version)
    code = compile(files[-1].read_text(), str(files[-1]), "exec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "unreal", editor.module)
        exec(code, {"__name__": "__main__", "__file__": str(files[-1])})
    takes = [str(tmp_path / file.name) for file in files[:-1]]
    assert editor.imported == takes
    assert all(animation.values["enable_root_motion"] for animation in editor.animations)
    made = editor.assets["/Game/MotionMatching/Database"]
    assert made in editor.saved and made.values["schema"] is editor.schema
    filled = made.values.get(editor.property, [])
    if editor.property is None:
        assert "does not let Python fill a database" in editor.warnings[0]
        assert f"the {len(takes)} animations" in editor.warnings[0]
    else:
        entries = [getattr(animation, "held", animation) for animation in filled]
        assert [animation.values["sequence"] for animation in entries] == editor.animations
        assert not editor.warnings


class Unreal:
    """The part of Unreal's Python module that an import needs; calls are recorded."""

    def __init__(self, version):
        self.property = {"5.0": "sequences", "5.2": "animation_assets", "5.5": None}[version]
        self.imported, self.animations, self.saved, self.warnings = [], [], [], []
        names = {
            "AssetImportTask": {
                "filename", "destination_path", "automated", "replace_existing", "save",
                "imported_object_paths",
            },
            "AnimSequence": {"enable_root_motion"},
            "PoseSearchDatabaseSequence": {"sequence", "sampling_range", "mirror_option"},
            "PoseSearchDatabase": {"schema", *([self.property] if self.property else [])},
        }  # fmt: skip
        kinds = {name: editor_object(name, attributes) for name, attributes in names.items()}
        self.schema = object()
        self.assets = {"/Game/MotionMatching/Schema": self.schema}
        tools = SimpleNamespace(import_asset_tasks=self._import, create_asset=self._create)
        library = SimpleNamespace(
            does_asset_exist=lambda path: path in self.assets, save_loaded_asset=self.saved.append
        )
        self.module = SimpleNamespace(
            **kinds,
            AssetToolsHelpers=SimpleNamespace(get_asset_tools=lambda: tools),
            EditorAssetLibrary=library,
            load_asset=self.assets.get,
            log=lambda text: None,
            log_warning=self.warnings.append,
        )
        if version == "5.2":
            self.module.StructUtilsFunctionLibrary = SimpleNamespace(
                make_instanced_struct=lambda value: SimpleNamespace(held=value)
            )

    def _import(self, tasks):
        for task in tasks:
            self.imported.append(task.values["filename"])
            path = f"{task.values['destination_path']}/{len(self.imported)}"
            self.assets[path] = self.module.AnimSequence()
            self.animations.append(self.assets[path])
            task.values["imported_object_paths"] = [path]

    def _create(self, name, folder, kind, factory):
        assert factory is None  # Python has no factory of PoseSearch databases
        self.assets[f"{folder}/{name}"] = kind()
        return self.assets[f"{folder}/{name}"]


def editor_object(name, attributes):
    """A class whose objects have some editor properties, and refuse others as Unreal does."""

    def of(self, prop):
        if prop not in attributes:
            raise Exception(f"{name}: Failed to find property '{prop}'")

    def set_property(self, prop, value):
        of(self, prop)
        self.values[prop] = value

    def get_property(self, prop):
        of(self, prop)
        return self.values[prop]

    return type(
        name,
        (),
        {
            "__init__": lambda self: setattr(self, "values", {}),
            "set_editor_property": set_property,
            "get_editor_property": get_property,
            "get_path_name": lambda self: f"/Game/{name}",
        },
    )

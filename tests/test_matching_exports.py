"""Matching databases as files of other programs, read back by readers that share no code."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from naive import matching_files as naive
from scipy.spatial.transform import Rotation

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion_matching import MatchingSettings, matching_database
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
    files = database.export(tmp_path, "orangeduck").files
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
    files = database.export(tmp_path, "unity", mesh="none").files[-3:]
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


def test_unknown_formats_and_invalid_folders_are_rejected(database, tmp_path):
    with pytest.raises(InvalidInput, match="one of godot, unity, unreal, web, glb, .* got 'maya'"):
        database.export(tmp_path, "maya")
    with pytest.raises(InvalidInput, match="contain no meshes, so they have no option mesh"):
        database.export(tmp_path, "orangeduck", mesh="low")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InvalidInput, match="file is not a folder"):
        database.export(file, "unity")


def test_features_are_stored_with_their_rows(database, tmp_path):
    database.export(tmp_path, "glb", mesh="none")
    raw = (tmp_path / "matching.bin").read_bytes()
    assert raw[:4] == b"MLMM"
    version, rows, columns, width = np.frombuffer(raw, "<u4", 4, 4)
    assert (version, rows, columns, width) == (1, len(database), 27, 2)
    offset, scale = np.frombuffer(raw, "<f4", 54, 20).reshape(2, 27)
    flags = np.frombuffer(raw, np.uint8, rows, 236)
    features = np.frombuffer(raw, "<f2", rows * 27, 236 + (rows + 3) // 4 * 4)
    plain = features.reshape(rows, 27).astype(np.float64) * scale + offset
    np.testing.assert_allclose(plain, database.features, atol=0.004)
    np.testing.assert_array_equal(flags == 1, database.searchable & (database.gaits > 0))
    takes = json.loads((tmp_path / "takes.json").read_text())["takes"]
    assert takes[0]["first_row"] == 0
    assert sum(take["frames"] for take in takes) == rows


@pytest.mark.parametrize("version", ["5.0", "5.2", "5.5"])
def test_the_script_for_unreal_fills_a_database(database, tmp_path, version):
    """Run against a module with the names of Unreal's documentation, and no others."""
    database.export(tmp_path, "unreal", mesh="none")
    script = tmp_path / "import_into_unreal.py"
    takes = json.loads((tmp_path / "takes.json").read_text())["takes"]
    editor = Unreal(version, [f"takes_{take['name']}" for take in takes])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "unreal", editor.module)
        exec(
            compile(script.read_text(), str(script), "exec"),
            {"__name__": "__main__", "__file__": str(script)},
        )
    assert editor.imported == [str(tmp_path / "takes.fbx")]
    assert len(editor.animations) == len(takes)
    steps = sum(len(take["footsteps"]) for take in takes)
    assert steps and len(editor.notifies) == steps
    assert all(animation.values["enable_root_motion"] for animation in editor.animations)
    made = editor.assets["/Game/Motionloom/Database"]
    assert made in editor.saved and made.values["schema"] is editor.schema
    filled = made.values.get(editor.property, [])
    if editor.property is None:
        assert "does not let Python fill a database" in editor.warnings[0]
        assert f"the {len(takes)} animations on /Game/Skeleton" in editor.warnings[0]
    else:
        entries = [getattr(animation, "held", animation) for animation in filled]
        assert [animation.values["sequence"] for animation in entries] == editor.animations
        assert not editor.warnings


class Unreal:
    """The part of Unreal's Python module that an import needs; calls are recorded."""

    def __init__(self, version, animations):
        self._names, self.notifies = animations, []
        self.property = {"5.0": "sequences", "5.2": "animation_assets", "5.5": None}[version]
        self.imported, self.animations, self.saved, self.warnings = [], [], [], []
        names = {
            "AssetImportTask": {
                "filename", "destination_path", "automated", "replace_existing", "save",
                "imported_object_paths", "options",
            },
            "FbxImportUI": {
                "automated_import_should_detect_type", "import_as_skeletal", "import_mesh",
                "import_animations", "import_materials", "import_textures", "create_physics_asset",
                "mesh_type_to_import", "skeleton",
            },
            "Skeleton": set(),
            "AnimSequence": {"enable_root_motion"},
            "PoseSearchDatabaseSequence": {"sequence", "sampling_range", "mirror_option"},
            "PoseSearchDatabase": {"schema", *([self.property] if self.property else [])},
        }  # fmt: skip
        kinds = {name: editor_object(name, attributes) for name, attributes in names.items()}
        self.schema = object()
        self.assets = {"/Game/Motionloom/Schema": self.schema}
        tools = SimpleNamespace(import_asset_tasks=self._import, create_asset=self._create)
        library = SimpleNamespace(
            does_asset_exist=lambda path: path in self.assets, save_loaded_asset=self.saved.append
        )
        self.module = SimpleNamespace(
            **kinds,
            AssetToolsHelpers=SimpleNamespace(get_asset_tools=lambda: tools),
            EditorAssetLibrary=library,
            FBXImportType=SimpleNamespace(FBXIT_SKELETAL_MESH=1),
            AnimNotify=object,
            AnimationLibrary=SimpleNamespace(
                remove_animation_notify_track=lambda animation, track: None,
                add_animation_notify_track=lambda animation, track: None,
                add_animation_notify_event=lambda *given: self.notifies.append(given),
            ),
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
            assert "skeleton" not in task.values["options"].values
            paths = []
            for name in self._names:
                paths.append(f"{task.values['destination_path']}/{name}")
                animation = self.assets[paths[-1]] = self.module.AnimSequence()
                animation.get_name = lambda name=name: name
                self.animations.append(animation)
            paths.append(f"{task.values['destination_path']}/takes_Skeleton")
            self.assets[paths[-1]] = self.module.Skeleton()
            task.values["imported_object_paths"] = paths

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

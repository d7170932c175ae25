"""Takes with a root bone on the floor, for Godot and Unreal, and a script for Unreal's editor.

Every range is one file: the root bone is the simulation bone and carries the root motion, the hips
are its child. Godot's add-ons bake from the animations of a GLB file; Unreal has no open file for
PoseSearch databases, so that a script imports the files, turns root motion on, and fills a database
in the editor.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from motionloom.files import atomic_write
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion_matching.database import MatchingDatabase, Range
from motionloom.motion_matching.exports.databases import simulation_bone

ROOT = "root"
SCRIPT = "import_into_unreal.py"


def write_engine(
    database: MatchingDatabase, folder: Path, *, suffix: str = ".glb", mirrored: bool = False
) -> list[Path]:
    """One file per take, and the script; returns their paths.

    Engines mirror by themselves; `mirrored` also writes the mirrored copies.
    """
    files = []
    for part in database.ranges:
        if part.mirrored and not mirrored:
            continue
        file = folder / (re.sub(r"[^\w.-]+", "_", part.name).strip("_") + suffix)
        with_root_bone(database, part).save(file)
        files.append(file)
    script = folder / SCRIPT
    with atomic_write(script) as scratch:
        scratch.write_text(unreal_script([file.name for file in files]), encoding="utf-8")
    return [*files, script]


def with_root_bone(database: MatchingDatabase, part: Range) -> Motion:
    """A range as a motion whose first joint is the simulation bone."""
    motion = database.motion(part)
    skeleton = motion.skeleton
    places, turns = simulation_bone(database, part)
    back = rot.inverse(turns)
    hips = rot.rotate(back, motion.root.astype(np.float64) - places)
    local = motion.rotations.astype(np.float64)
    local[:, 0] = rot.multiply(back, local[:, 0])
    name = ROOT
    while name in skeleton.point_names:
        name += "_"
    offsets = skeleton.offsets.copy()
    offsets[0] = hips.mean(axis=0) * [0.0, 1.0, 0.0]
    grown = Skeleton(
        (name, *skeleton.names),
        np.concatenate([[-1], skeleton.parents + 1]),
        np.concatenate([np.zeros((1, 3)), offsets]),
        skeleton.end_names,
        skeleton.end_parents + 1,
        skeleton.end_offsets,
        None if skeleton.rest is None else np.concatenate([[[1.0, 0.0, 0.0, 0.0]], skeleton.rest]),
        dict(skeleton.roles),
    )
    moved = np.broadcast_to(grown.offsets, (len(motion), len(grown), 3)).copy()
    moved[:, 1] = hips
    return Motion(
        grown,
        np.concatenate([turns[:, None], local], axis=1),
        places,
        motion.fps,
        name=part.name,
        translations=moved,
    )


def unreal_script(files: list[str]) -> str:
    """A script for Unreal's editor that imports the files and fills a PoseSearch database."""
    listed = "\n".join(f"    {file!r}," for file in files)
    return _SCRIPT.replace("FILES_HERE", listed)


_SCRIPT = '''"""Import these takes into Unreal and fill a PoseSearch database.

Written by motionloom. Run it in Unreal's editor: Tools > Execute Python Script, with the plugins
"Pose Search" and "Python Editor Script Plugin" turned on. Set SCHEMA to your PoseSearchSchema; it
is made in the editor for your skeleton, with the channels you want.
"""

import os

import unreal

FOLDER = "/Game/MotionMatching"  # where assets go
SCHEMA = "/Game/MotionMatching/Schema"  # your PoseSearchSchema
FILES = [
FILES_HERE
]


def imported(file):
    """Assets of one file."""
    task = unreal.AssetImportTask()
    task.set_editor_property("filename", file)
    task.set_editor_property("destination_path", FOLDER)
    task.set_editor_property("automated", True)
    task.set_editor_property("replace_existing", True)
    task.set_editor_property("save", True)
    unreal.AssetToolsHelpers.get_asset_tools().import_asset_tasks([task])
    return [unreal.load_asset(path) for path in task.get_editor_property("imported_object_paths")]


def sequences(assets):
    """The animations among assets, with root motion."""
    found = [one for one in assets if isinstance(one, unreal.AnimSequence)]
    for one in found:
        one.set_editor_property("enable_root_motion", True)
        unreal.EditorAssetLibrary.save_loaded_asset(one)
    return found


def database():
    """The PoseSearch database, made if it is not there."""
    path = FOLDER + "/Database"
    if unreal.EditorAssetLibrary.does_asset_exist(path):
        return unreal.load_asset(path)
    tools = unreal.AssetToolsHelpers.get_asset_tools()
    return tools.create_asset("Database", FOLDER, unreal.PoseSearchDatabase, None)


def entries(found):
    """Property of a database that lists its animations, and its value, one per way to fill it.

    Unreal 5.0 and 5.1 have ``sequences``, 5.2 and 5.3 ``animation_assets``. Later versions show
    neither to Python.
    """
    listed = []
    for sequence in found:
        one = unreal.PoseSearchDatabaseSequence()
        one.set_editor_property("sequence", sequence)
        listed.append(one)
    yield "sequences", listed
    makers = [
        getattr(unreal, name, None)
        for name in ("StructUtilsFunctionLibrary", "BlueprintInstancedStructLibrary")
    ]
    for maker in makers:
        if maker is not None and hasattr(maker, "make_instanced_struct"):
            yield "animation_assets", [maker.make_instanced_struct(one) for one in listed]


def filled(target, found):
    """Whether this version of Unreal lets Python put animations into a database."""
    for name, value in entries(found):
        try:
            target.set_editor_property(name, value)
        except Exception:  # the property does not exist in this version
            continue
        return True
    return False


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    found = [one for file in FILES for one in sequences(imported(os.path.join(here, file)))]
    target = database()
    schema = unreal.load_asset(SCHEMA)
    if schema is None:
        unreal.log_warning("no PoseSearchSchema at " + SCHEMA + "; set it in the database by hand")
    else:
        target.set_editor_property("schema", schema)
    done = filled(target, found)
    unreal.EditorAssetLibrary.save_loaded_asset(target)
    if done:
        unreal.log("motionloom: " + str(len(found)) + " animations in " + target.get_path_name())
    else:
        unreal.log_warning(
            "motionloom: this version of Unreal does not let Python fill a database; select the "
            + str(len(found)) + " animations in " + FOLDER + " and drag them into "
            + target.get_path_name()
        )


main()
'''

"""Script that reads a USD file in a separate process, without importing motionloom.

See `motionloom.formats.child_process`.
"""

from __future__ import annotations

import os
import stat

import numpy as np

END_SITES = "motionloom:endSites"  # number of joints at the end that are end sites
_ROOM = 4_000_000  # joints times frames that any file may have
_GROWTH = 64  # the same limit for files with many samples, per sample
_ROOM_OF_TAKES, _GROWTH_OF_TAKES = 8_000_000, 16  # the limit of all skeletons; per byte of the file
_MOST_LAYERS, _LARGEST = 1000, 1 << 30  # files that one file may refer to, and their bytes


class UnreadableUsd(Exception):
    """Error that states why a USD file cannot be read."""


REFUSED = UnreadableUsd


def read(request: dict) -> dict:
    """Read a file and save its arrays.

    The request has the keys path, skeleton, fps, takes and output. With takes ``"list"``, only list
    the skeletons; with ``"all"``, read all of them.
    """
    from pxr import Usd

    _check_layers(request["path"])
    stage = Usd.Stage.Open(request["path"])
    prims = _skeletons(stage)
    about: dict = {"skeletons": [str(prim.GetPath()) for prim in prims], "takes": []}
    arrays: dict = {}
    if not prims:
        raise UnreadableUsd("the file has no skeleton (UsdSkel)")
    if not request["takes"]:
        about |= _take(stage, _skeleton(prims, request["skeleton"]), request["fps"], arrays)
    elif request["takes"] == "all":
        left = [max(_ROOM_OF_TAKES, _GROWTH_OF_TAKES * os.path.getsize(request["path"]))]
        for number, prim in enumerate(prims):
            own: dict = {}
            try:
                about["takes"].append(_take(stage, prim, request["fps"], own, left))
            except UnreadableUsd as refusal:
                about["takes"].append({"refused": str(refusal)})
            arrays |= {f"{number} {name}": array for name, array in own.items()}
    np.savez(request["output"], **arrays)
    return about


def _take(stage, prim, fps: float | None, arrays: dict, left: list[int] | None = None) -> dict:
    """Evaluate one skeleton, and add its arrays to `arrays`; `left` limits all skeletons."""
    from pxr import Usd, UsdGeom, UsdSkel

    bones = UsdSkel.Skeleton(prim)
    cache = UsdSkel.Cache()
    holder = UsdSkel.Root.Find(bones.GetPrim())
    if holder:
        cache.Populate(holder, Usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(bones)
    if not query:
        raise UnreadableUsd(f"the skeleton {bones.GetPath()} is not valid")
    joints = [str(token) for token in query.GetJointOrder()]
    if not joints:
        raise UnreadableUsd(f"the skeleton {bones.GetPath()} has no joints")
    parents = np.array([query.GetTopology().GetParent(k) for k in range(len(joints))])
    animation = query.GetAnimQuery()
    samples = list(animation.GetJointTransformTimeSamples()) if animation else []
    times, rate = sample_times(samples, stage.GetTimeCodesPerSecond(), fps, len(joints))
    count = len(joints)
    if left is not None:
        left[0] -= count * len(times)
        if left[0] < 0:
            raise UnreadableUsd("all skeletons together have too many frames for the file's size")
    turns = np.empty((len(times), count, 3, 3), np.float32)
    steps = np.empty((len(times), count, 3))
    world = np.empty((len(times), 4, 4))
    for frame, time in enumerate(times):
        matrices = np.array(query.ComputeJointLocalTransforms(float(time)))
        if matrices.shape != (count, 4, 4):
            raise UnreadableUsd("the animation does not match its skeleton")
        turns[frame] = matrices[:, :3, :3]
        steps[frame] = matrices[:, 3, :3]
        at = UsdGeom.XformCache(float(time)).GetLocalToWorldTransform(bones.GetPrim())
        world[frame] = np.array(at)
    rest = np.array(query.ComputeJointLocalTransforms(Usd.TimeCode.Default(), True))
    names = bones.GetJointNamesAttr().Get() if bones.GetJointNamesAttr() else None
    ends = bones.GetPrim().GetCustomDataByKey(END_SITES)
    arrays |= {"turns": turns, "steps": steps, "world": world, "rest": rest, "parents": parents}
    up = str(UsdGeom.GetStageUpAxis(stage)).lower()
    return {
        "joints": joints,
        "names": [str(name) for name in names] if names and len(names) == count else None,
        "ends": ends if isinstance(ends, int) and 0 <= ends < count else 0,
        "fps": rate,
        "unit": float(UsdGeom.GetStageMetersPerUnit(stage)),
        "up": up if up in ("y", "z") else "y",
        "animated": bool(samples),
        "name": holder.GetPrim().GetDisplayName() or holder.GetPrim().GetName() if holder else "",
    }


def _skeletons(stage) -> list:
    from pxr import UsdSkel

    skeletons = []
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Skeleton):
            skeletons.append(prim)
        if len(skeletons) > 1000:
            raise UnreadableUsd("the file has more than 1000 skeletons")
    return skeletons


def _check_layers(path: str) -> None:
    """Raise if the file refers to a pipe or device, which USD would wait for, or to many files."""
    from pxr import Sdf

    seen, waiting, size = {path}, [path], 0
    while waiting:
        place = waiting.pop()
        if not os.path.exists(place):
            continue  # not found by its path; USD reports it
        status = os.stat(place)
        size += status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableUsd(f"the file refers to {place}, which is not a regular file")
        if len(seen) > _MOST_LAYERS or size > _LARGEST:
            raise UnreadableUsd(
                f"the file refers to more than {_MOST_LAYERS} files or {_LARGEST >> 20} MB"
            )
        layer = Sdf.Layer.FindOrOpen(place)
        for name in layer.GetCompositionAssetDependencies() if layer else ():
            # The path in the file, without the arguments that USD allows after it.
            inner = layer.ComputeAbsolutePath(Sdf.Layer.SplitIdentifier(name)[0])
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)


def _skeleton(prims: list, wanted: str | None):
    from pxr import UsdSkel

    if wanted is not None:
        prims_by_name = {}
        for prim in reversed(prims):
            holder = UsdSkel.Root.Find(prim)
            names = [str(prim.GetPath()), prim.GetName()]
            if holder:
                names += [holder.GetPrim().GetName(), holder.GetPrim().GetDisplayName()]
            prims_by_name.update(dict.fromkeys(names, prim))
        if wanted not in prims_by_name:
            paths = ", ".join(str(prim.GetPath()) for prim in prims[:20])
            raise UnreadableUsd(f"no skeleton is called {wanted!r}. Skeletons in the file: {paths}")
        return prims_by_name[wanted]
    return prims[0]


def sample_times(samples: list[float], codes: float, fps: float | None, joints: int):
    """Return the time codes of the frames, and the frame rate."""
    if not (np.isfinite(codes) and 1e-3 <= codes <= 1e6):
        raise UnreadableUsd(f"timeCodesPerSecond must be positive and finite; found {codes:g}")
    if len(samples) < 2:
        return samples or [0.0], fps or codes
    gaps = np.diff(samples)
    spacing = float(np.median(gaps))
    if spacing <= 0.0 or not np.all(np.isfinite(samples)):
        raise UnreadableUsd("the times of the animation do not increase")
    even = (samples[-1] - samples[0]) / (len(samples) - 1)
    if fps is None and np.abs(gaps - even).max() < 0.02 * even:
        return samples, codes / even
    step = spacing if fps is None else codes / fps
    frames = (samples[-1] - samples[0]) / step + 1
    if frames * joints > max(_ROOM, _GROWTH * len(samples) * joints):
        raise UnreadableUsd(
            f"the animation would have {frames:.3g} frames, which is too many; set a lower fps"
        )
    return samples[0] + np.arange(int(frames + 1e-3)) * step, codes / step

"""Live streams in the VMC protocol: OSC messages over UDP, for VTuber programs and game engines.

An address takes the place of a file: ``vmc://`` (this computer, port 39539) or
``vmc://HOST:PORT``. Each frame is a bundle of messages with the position and rotation of every
human bone. Rotations are local and relative to a T-pose, as in VRM. The protocol has Unity's axes:
left-handed, y up, and a character that faces +Z has its left hand at -X. Our x axis is therefore
negated.
"""

from __future__ import annotations

import logging
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.character import t_pose
from motionloom.errors import InvalidInput
from motionloom.formats.gltf.reader import HUMAN_BONES
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

PORT = 39539  # of programs that receive VMC
_HERE = "127.0.0.1"
_MOST_WAITING = 1200  # frames
_LARGEST = 1400  # bytes per packet, below the usual limit of networks
_ADDRESS = re.compile(r"vmc:/{0,2}(?:(?P<host>[\w.-]+)(?::(?P<port>\d{1,5}))?)?/?")
Array = NDArray[np.floating]
_log = logging.getLogger("motionloom")


def address(target: str | Path) -> tuple[str, int] | None:
    """Return host and port of a stream, or None if `target` is a file.

    Examples
    --------
    >>> address("vmc://"), address("vmc://studio.local:4000"), address("walk.bvh")
    (('127.0.0.1', 39539), ('studio.local', 4000), None)
    >>> address("vmc://here:99999")
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: a stream must be vmc://HOST:PORT with a port from 1 to 65535;
    got vmc://here:99999
    """
    if not str(target).startswith("vmc:"):
        return None
    match = _ADDRESS.fullmatch(Path(target).as_posix())
    port = int(match["port"] or PORT) if match else 0
    if match is None or not 1 <= port <= 65535:
        raise InvalidInput(
            f"a stream must be vmc://HOST:PORT with a port from 1 to 65535; got {target}"
        )
    return match["host"] or _HERE, port


class VmcSender:
    """A character whose frames are sent to an address.

    Parameters
    ----------
    skeleton : Skeleton
    target : str or Path
        Address, ``vmc://HOST:PORT``.
    example : Motion, optional
        Motion of the skeleton, for rigs whose rest pose says little about its neutral pose.

    Raises
    ------
    InvalidInput
        If the address is invalid, or the skeleton has no hips.
    """

    def __init__(
        self, skeleton: Skeleton, target: str | Path, example: Motion | None = None
    ) -> None:
        place = address(target)
        if place is None:
            raise InvalidInput(f"a stream must be vmc://HOST:PORT; got {target}")
        self._skeleton = skeleton
        self._bones = _human_bones(skeleton)
        resting = _one_frame(skeleton, t_pose(skeleton, example), np.zeros(3))
        self._rest = resting.global_rotations()[0].astype(float)
        places = resting.positions()[0].astype(float)
        # Positions of bones, relative to the bone above
        self._offsets = [
            places[joint] - places[above] if above >= 0 else places[joint]
            for _, joint, above in self._bones
        ]
        try:
            self._place = socket.getaddrinfo(*place, type=socket.SOCK_DGRAM)[0]
        except OSError:
            raise InvalidInput(f"{target}: no such host") from None
        self._socket = socket.socket(self._place[0], socket.SOCK_DGRAM)

    def send(self, rotations: ArrayLike, root: ArrayLike, seconds: float) -> None:
        """Send one frame.

        Parameters
        ----------
        rotations : ndarray, shape (J, 4)
            Local rotations.
        root : ndarray, shape (3,)
            Position of the root joint, in meters.
        seconds : float
            Time of the frame.
        """
        posed = _one_frame(self._skeleton, rotations, root)
        # From the T-pose to this pose, in world axes.
        turns = rot.multiply(posed.global_rotations()[0].astype(float), rot.inverse(self._rest))
        hips = self._bones[0][1]
        hips_position = posed.positions()[0, hips]
        messages = [
            _message("/VMC/Ext/OK", 1),
            _message("/VMC/Ext/T", float(seconds)),
            _message("/VMC/Ext/Root/Pos", "root", *_unity((0.0, 0.0, 0.0), rot.IDENTITY)),
        ]
        for (bone, joint, above), offset in zip(self._bones, self._offsets, strict=True):
            local = turns[joint]
            if above >= 0:
                local = rot.multiply(rot.inverse(turns[above]), local)
            place = hips_position if joint == hips else offset
            messages.append(_message("/VMC/Ext/Bone/Pos", bone, *_unity(place, local)))
        for packet in _bundles(messages):
            self._socket.sendto(packet, self._place[4])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class LiveStream:
    """Frames that a player produces now, sent to an address at their rate.

    A thread sends them, so that `play` returns at once. If a player produces frames faster than
    they are played, the oldest are dropped.

    Parameters
    ----------
    target : str or Path
        Address, ``vmc://HOST:PORT``.
    """

    def __init__(self, target: str | Path) -> None:
        if address(target) is None:
            raise InvalidInput(f"a stream must be vmc://HOST:PORT; got {target}")
        self._target = target
        self._frames: deque[tuple[Skeleton, Array, Array, float]] = deque(maxlen=_MOST_WAITING)
        self._new = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="vmc", daemon=True)
        self._thread.start()

    def play(self, skeleton: Skeleton, rotations: Array, root: Array, fps: float) -> None:
        """Queue frames: rotations of shape (n, J, 4), root of shape (n, 3)."""
        for pose, place in zip(np.array(rotations), np.array(root), strict=True):
            self._frames.append((skeleton, pose, place, 1.0 / fps))
        self._new.set()

    def close(self) -> None:
        """Stop sending."""
        self._closed = True
        self._new.set()
        self._thread.join()

    def _run(self) -> None:
        sender: VmcSender | None = None
        current: Skeleton | None = None
        start = due = time.monotonic()
        while not self._closed:
            if not self._frames:
                self._new.clear()
                if not self._frames:  # none arrived before the event was cleared
                    self._new.wait()
                continue
            skeleton, rotations, root, step = self._frames.popleft()
            if skeleton is not current:
                current, sender = skeleton, _sender(skeleton, self._target, sender)
            due = max(due + step, time.monotonic() - step)
            time.sleep(max(0.0, due - time.monotonic()))
            if sender is not None:
                with suppress(OSError):  # nobody listens there
                    sender.send(rotations, root, due - start)
        if sender is not None:
            sender.close()


def _sender(skeleton: Skeleton, target: str | Path, before: VmcSender | None) -> VmcSender | None:
    """Return a sender for another skeleton, or None if it has no human bones."""
    if before is not None:
        before.close()
    try:
        return VmcSender(skeleton, target)
    except InvalidInput as error:
        _log.warning("not streamed: %s", error)
        return None


def write(motion: Motion, path: str | Path) -> None:
    """Play a motion in real time, sending its frames to an address; see `motionloom.save`."""
    sender = VmcSender(motion.skeleton, path, motion)
    try:
        start = time.monotonic()
        for frame in range(len(motion)):
            due = start + frame / motion.fps
            time.sleep(max(0.0, due - time.monotonic()))
            sender.send(motion.rotations[frame], motion.root[frame], frame / motion.fps)
    finally:
        sender.close()


def _human_bones(skeleton: Skeleton) -> list[tuple[str, int, int]]:
    """Return Unity's name, the joint and the joint of the bone above, for each bone; hips first."""
    roles = skeleton.roles
    joints = {
        role: skeleton.names.index(roles[role])
        for role in HUMAN_BONES
        if roles.get(role) in skeleton.names
    }
    named: dict[int, str] = {}
    for role, joint in joints.items():
        named.setdefault(joint, HUMAN_BONES[role])
    hips = joints.get("hips")
    if hips is None:
        raise InvalidInput("a VMC stream needs a skeleton with hips")
    bones = []
    for joint in sorted(named, key=lambda joint: (joint != hips, joint)):
        above = int(skeleton.parents[joint])
        while above >= 0 and above not in named:
            above = int(skeleton.parents[above])
        name = named[joint][0].upper() + named[joint][1:]
        bones.append((name, joint, -1 if joint == hips else above))
    return bones


def _one_frame(skeleton: Skeleton, rotations: ArrayLike, root: ArrayLike) -> Motion:
    frame = np.asarray(rotations, np.float32)[None], np.asarray(root, np.float32)[None]
    return Motion(skeleton, *frame, 30.0)


def _unity(position: Sequence[float] | Array, rotation: Array) -> tuple[float, ...]:
    """Return x, y, z and the quaternion x, y, z, w in Unity's axes."""
    x, y, z = (float(value) for value in position)
    w, i, j, k = (float(value) for value in rotation)
    return -x, y, z, i, -j, -k, w


def _message(place: str, *values: str | int | float) -> bytes:
    """Encode an OSC message (OSC 1.0): address, type tags and values, each padded to 4 bytes."""
    tags, data = ",", b""
    for value in values:
        if isinstance(value, str):
            tags, data = tags + "s", data + _padded(value)
        elif isinstance(value, int):
            tags, data = tags + "i", data + struct.pack(">i", value)
        else:
            tags, data = tags + "f", data + struct.pack(">f", value)
    return _padded(place) + _padded(tags) + data


def _padded(text: str) -> bytes:
    data = text.encode("ascii") + b"\0"
    return data + b"\0" * (-len(data) % 4)


def _bundles(messages: Sequence[bytes]) -> Iterator[bytes]:
    """Pack messages into OSC bundles that fit into a packet; the time tag 1 means immediately."""
    head = b"#bundle\0" + struct.pack(">Q", 1)
    packet = head
    for message in messages:
        part = struct.pack(">i", len(message)) + message
        if len(packet) + len(part) > _LARGEST and packet != head:
            yield packet
            packet = head
        packet += part
    yield packet

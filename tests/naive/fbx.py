"""Binary FBX 7400, record by record, and its joints from Euler angles; for our own files only."""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np

TICKS = 46186158000


def records(path):
    """The tree of a file: lists of (name, properties, children)."""
    data = path.read_bytes()
    assert data[:23] == b"Kaydara FBX Binary  \x00\x1a\x00"
    assert struct.unpack_from("<I", data, 23) == (7400,)
    result, place = [], 27
    while True:
        record, place = _record(data, place)
        if record is None:
            return result
        result.append(record)


def _record(data, place):
    end, count, _, length = struct.unpack_from("<IIIB", data, place)
    if end == 0:
        return None, place + 13
    name = data[place + 13 : place + 13 + length].decode()
    place += 13 + length
    values = []
    for _ in range(count):
        value, place = _value(data, place)
        values.append(value)
    children = []
    while place < end:
        child, place = _record(data, place)
        if child is not None:
            children.append(child)
    assert place == end
    return (name, values, children), place


def _value(data, place):
    kind, place = chr(data[place]), place + 1
    if kind in "CIDL":
        form = {"C": "<B", "I": "<i", "D": "<d", "L": "<q"}[kind]
        return struct.unpack_from(form, data, place)[0], place + struct.calcsize(form)
    if kind in "SR":
        (size,) = struct.unpack_from("<I", data, place)
        raw = data[place + 4 : place + 4 + size]
        return raw.decode() if kind == "S" else raw, place + 4 + size
    count, packed, size = struct.unpack_from("<III", data, place)
    raw = data[place + 12 : place + 12 + size]
    raw = zlib.decompress(raw) if packed else raw
    array = np.frombuffer(raw, {"f": "<f4", "d": "<f8", "i": "<i4", "l": "<i8"}[kind])
    assert len(array) == count
    return array, place + 12 + size


class NaiveFbx:
    """Objects by number, their properties and connections."""

    def __init__(self, path):
        top = {name: children for name, _, children in records(path)}
        self.objects = {values[0]: (kind, values, rest) for kind, values, rest in top["Objects"]}
        self.links = [values for _, values, _ in top["Connections"]]
        self.settings = _table(top["GlobalSettings"])
        self.takes = [values[0] for name, values, _ in top["Takes"] if name == "Take"]

    def of(self, kind, subtype=None):
        return {
            number: first
            for number, first in self.objects.items()
            if first[0] == kind and subtype in (None, first[1][2])
        }

    def name(self, number):
        return self.objects[number][1][1].split("\0")[0]

    def into(self, number, attribute=None):
        return [
            link[1]
            for link in self.links
            if link[2] == number and (link[3] if len(link) > 3 else None) == attribute
        ]

    def positions(self, seconds, take):
        """World positions of all limb nodes by name, in file units."""
        (layer,) = [n for n in self.into(take) if self.objects[n][0] == "AnimationLayer"]
        nodes = set(self.into(layer))
        world = {}
        for number, (_, _, children) in self.of("Model", "LimbNode").items():
            table = _table(children)
            values = {}
            for key in ("Lcl Translation", "Lcl Rotation"):
                values[key] = list(table[key])
                for node in self.into(number, key):
                    if node in nodes:
                        for axis, name in enumerate(("d|X", "d|Y", "d|Z")):
                            (curve,) = self.into(node, name)
                            values[key][axis] = self._at(curve, seconds)
            local = np.eye(4)
            local[:3, :3] = euler_matrix(values["Lcl Rotation"])
            local[:3, 3] = values["Lcl Translation"]
            (parent,) = [
                link[2] for link in self.links
                if link[1] == number and (link[2] == 0 or self.objects[link[2]][0] == "Model")
            ]  # fmt: skip
            world[number] = local if parent == 0 else world[parent] @ local
        return {self.name(number): matrix[:3, 3] for number, matrix in world.items()}

    def _at(self, curve, seconds):
        values = {name: rest for name, rest, _ in self.objects[curve][2]}
        times = values["KeyTime"][0] / TICKS
        return float(np.interp(seconds, times, values["KeyValueFloat"][0]))


def _table(children):
    (rows,) = [rest for name, _, rest in children if name == "Properties70"]
    return {values[0]: values[4] if len(values) == 5 else values[4:] for _, values, _ in rows}


def euler_matrix(degrees):
    """Turn about x, then y, then z."""
    matrix = np.eye(3)
    for axis, angle in enumerate(degrees):
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turn = np.eye(3)
        a, b = (axis + 1) % 3, (axis + 2) % 3
        turn[a, a] = turn[b, b] = c
        turn[a, b], turn[b, a] = -s, s
        matrix = turn @ matrix
    return matrix

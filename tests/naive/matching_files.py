"""Readers of motion matching files, byte by byte, from the descriptions of their layouts."""

import struct


class Bytes:
    """Values read one after the other, little endian."""

    def __init__(self, path):
        self.data, self.at = path.read_bytes(), 0

    def take(self, kind, count=1):
        values = struct.unpack_from(f"<{count}{kind}", self.data, self.at)
        self.at += struct.calcsize(f"<{count}{kind}")
        return values[0] if count == 1 else list(values)

    def text(self):
        length, shift = 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8")

    @property
    def done(self):
        return self.at == len(self.data)


def _table(file, size):
    rows, columns = file.take("I"), file.take("I")
    return [[[file.take("f") for _ in range(size)] for _ in range(columns)] for _ in range(rows)]


def _row(file, kind):
    return [file.take(kind) for _ in range(file.take("I"))]


def orangeduck_database(path):
    file = Bytes(path)
    names = (("positions", 3), ("velocities", 3), ("rotations", 4), ("angular", 3))
    read = {name: _table(file, size) for name, size in names}
    read |= {name: _row(file, "i") for name in ("parents", "starts", "stops")}
    rows, columns = file.take("I"), file.take("I")
    read["contacts"] = [[file.take("B") for _ in range(columns)] for _ in range(rows)]
    assert file.done
    return read


def orangeduck_features(path):
    file = Bytes(path)
    rows, columns = file.take("I"), file.take("I")
    features = [[file.take("f") for _ in range(columns)] for _ in range(rows)]
    offset, scale = _row(file, "f"), _row(file, "f")
    assert file.done
    return features, offset, scale


def unity_skeleton(path):
    file = Bytes(path)
    joints = []
    for _ in range(file.take("I")):
        name = file.text()
        index, parent = file.take("I"), file.take("I")
        joints.append((name, index, parent, file.take("f", 3), file.take("I")))
    assert file.done
    return joints


def unity_poses(path):
    file = Bytes(path)
    clips = [(file.take("I"), file.take("I"), file.take("f")) for _ in range(file.take("I"))]
    poses, joints, tags = file.take("I"), file.take("I"), file.take("I")
    read = []
    for _ in range(poses):
        places = [file.take("f", 3) for _ in range(joints)]
        turns = [file.take("f", 4) for _ in range(joints)]
        file.take("f", 6 * joints)
        read.append((places, turns, file.take("I"), file.take("I")))
    named = {}
    for _ in range(tags):
        name = file.text()
        named[name] = [(file.take("I"), file.take("I")) for _ in range(file.take("I"))]
    assert file.done
    return clips, read, named


def unity_features(path):
    file = Bytes(path)
    count, static, size, groups = (file.take("I") for _ in range(4))
    normal = [(file.take("f"), file.take("f")) for _ in range(static)]
    about = [(file.text(), file.take("I"), file.take("I")) for _ in range(groups)]
    rows = [(file.take("I"), file.take("f", size)) for _ in range(count)]
    assert file.done
    return normal, about, rows

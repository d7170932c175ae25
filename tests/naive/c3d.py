"""A simple writer of all kinds of C3D files; shares no code with motionloom."""

from __future__ import annotations

import struct

PROCESSORS = {"intel": 84, "dec": 85, "mips": 86}


def c3d_bytes(
    points,
    labels,
    *,
    processor="intel",
    integers=False,
    scale=0.1,
    rate=100.0,
    first=1,
    units="mm",
    analog=0,
    residuals=None,
    extra=(),
    frames_told=None,
):
    """Bytes of a file; `points` is a list of frames of (x, y, z) in the file's unit."""
    big = processor == "mips"
    order = ">" if big else "<"

    def word(value):
        return struct.pack(order + "H", value & 0xFFFF)

    def real(value):
        if processor != "dec":
            return struct.pack(order + "f", value)
        bits = struct.pack("<f", value * 4.0)
        return bits[2:] + bits[:2]

    def parameter(name, kind, dims, data):
        return name, bytes([kind & 0xFF, len(dims), *dims]) + data + b"\0"

    def text(name, values):
        width = max([1, *map(len, values)])
        data = b"".join(value.ljust(width).encode("latin-1") for value in values)
        return parameter(name, -1, [width, len(values)], data)

    count = len(points) if frames_told is None else frames_told
    told_scale = scale if integers else -1.0
    listed = [labels[k : k + 255] for k in range(0, len(labels), 255)] or [[]]

    def section(data_block):
        items = [("POINT", -1, b"\0"), ("TRIAL", -2, b"\0"), ("ANALOG", -3, b"\0")]
        numbers = [
            parameter("USED", 2, [], word(len(points[0]))),
            parameter("SCALE", 4, [], real(told_scale)),
            parameter("RATE", 4, [], real(rate)),
            parameter("FRAMES", 2, [], word(min(count, 0xFFFF))),
            parameter("DATA_START", 2, [], word(data_block)),
        ]
        texts = [text("UNITS", [units])] if units else []
        for k, part in enumerate(listed):
            texts.append(text("LABELS" if k == 0 else f"LABELS{k + 1}", part))
        items += [(name, 1, value) for name, value in [*numbers, *texts]]
        channels = [
            parameter("USED", 2, [], word(analog)),
            parameter("RATE", 4, [], real(rate)),
            parameter("GEN_SCALE", 4, [], real(1.0)),
            parameter("SCALE", 4, [analog], real(1.0) * analog),
            parameter("OFFSET", 2, [analog], word(0) * analog),
        ]
        items += [(name, 3, value) for name, value in channels]
        for group, name, kind, dims, values in extra:
            if kind == -1:
                items.append((name, group, text(name, values)[1]))
                continue
            data = b"".join(word(v) if kind == 2 else real(v) for v in values)
            items.append((name, group, parameter(name, kind, dims, data)[1]))
        body = b""
        for name, number, value in items:
            body += struct.pack("bb", len(name), number) + name.encode() + word(2 + len(value))
            body += value
        blocks = -(-(6 + len(body)) // 512)
        head = bytes([1, 0x50, blocks, PROCESSORS[processor]])
        return (head + body).ljust(blocks * 512, b"\0"), 2 + blocks

    data_block = section(0)[1]
    parameters = section(data_block)[0]
    header = bytes([2, 0x50])
    header += b"".join(map(word, [len(points[0]), analog, first, min(first + count - 1, 0xFFFF)]))
    header += word(10) + real(told_scale) + word(data_block) + word(1 if analog else 0)
    header += real(rate)
    body = []
    for t, frame in enumerate(points):
        for p, point in enumerate(frame):
            residual = 0 if residuals is None else residuals[t][p]
            if integers:
                body += [word(round(value / scale)) for value in point]
                body.append(word(residual if residual < 0 else 0x0300 | residual))
            else:
                body += [real(value) for value in point] + [real(float(residual))]
        body += [word(7) if integers else real(7.0)] * analog
    data = b"".join(body)
    data = data.ljust(-(-len(data) // 512) * 512, b"\0")
    return header.ljust(512, b"\0") + parameters + data

"""OSC 1.0 packets, read as the specification says: padded strings, big-endian numbers."""

import struct


def messages(packet):
    """Address and values of every message of a packet."""
    if packet.startswith(b"#bundle\0"):
        at, inner = 16, []
        while at < len(packet):
            (size,) = struct.unpack_from(">i", packet, at)
            assert size % 4 == 0
            inner += messages(packet[at + 4 : at + 4 + size])
            at += 4 + size
        assert at == len(packet)
        return inner
    place, at = _string(packet, 0)
    tags, at = _string(packet, at)
    assert tags[0] == ","
    values = []
    for tag in tags[1:]:
        if tag == "s":
            value, at = _string(packet, at)
        else:
            (value,) = struct.unpack_from({"i": ">i", "f": ">f"}[tag], packet, at)
            at += 4
        values.append(value)
    assert at == len(packet)
    return [(place, values)]


def _string(packet, at):
    end = packet.index(b"\0", at)
    return packet[at:end].decode("ascii"), at + 4 * ((end - at) // 4 + 1)

"""USD files, through usd-core (the extra ``usd``)."""

from motionloom.formats.usd.reader import read
from motionloom.formats.usd.writer import write

__all__ = ["read", "write"]

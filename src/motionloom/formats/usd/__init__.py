"""USD files, through usd-core (the extra ``usd``)."""

from motionloom.formats.usd.reader import read
from motionloom.formats.usd.writer import require_extra, write

__all__ = ["read", "require_extra", "write"]

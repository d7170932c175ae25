"""About 250 unusual BVH files, each with the expected result of reading it.

The files are made here, from the format's description and from what exporters of the field
write, without a line of motionloom. Each case carries its reason as a comment.
"""

from __future__ import annotations

from odd_bvh_channels import channels
from odd_bvh_damage import damaged
from odd_bvh_dialects import dialects
from odd_bvh_model import Odd
from odd_bvh_tables import tables

CORPUS: list[Odd] = [*dialects(), *tables(), *channels(), *damaged()]
assert len({odd.name for odd in CORPUS}) == len(CORPUS)

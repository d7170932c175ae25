"""Assets for game engines: one character and many named, compact animations with a manifest."""

from motionloom.formats.game_assets.bundle import ENGINES, AssetReport, write_assets
from motionloom.formats.game_assets.take import GameTake, on_root_bone

__all__ = ["ENGINES", "AssetReport", "GameTake", "on_root_bone", "write_assets"]

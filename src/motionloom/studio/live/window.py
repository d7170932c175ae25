"""One browser window's own things: the players it steers."""

from __future__ import annotations

import itertools
from typing import Any

from motionloom.blending import Player
from motionloom.errors import InvalidInput
from motionloom.studio.app_state import Workshop

_PLAYERS = 64  # at once in one window


class Window:
    """What belongs to one window and ends with it.

    Parameters
    ----------
    workshop : Workshop
        What it shares with the others.
    """

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self._players: dict[int, Player] = {}
        self._numbers = itertools.count(1)

    def keep(self, player: Player) -> int:
        """Hold a player for this window; its number."""
        if len(self._players) >= _PLAYERS:
            raise InvalidInput(f"{_PLAYERS} players are running in this window; close some")
        number = next(self._numbers)
        self._players[number] = player
        return number

    def player(self, number: Any) -> Player:
        """The player of a number that `keep` gave."""
        if number not in self._players:
            raise InvalidInput(f"no player {number!r} in this window; start one first")
        return self._players[number]

    def drop(self, number: Any) -> None:
        """End a player."""
        self._players.pop(number, None)

    def close(self) -> None:
        """End all of them."""
        self._players.clear()

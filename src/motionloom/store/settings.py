"""Settings for imports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motionloom.errors import InvalidInput
from motionloom.formats.settings import LAYOUT, ROLES, UNIT, UP
from motionloom.settings import Settings, setting

LabelRule = str | Path | Mapping[str, str | Iterable[str]]


@dataclass(frozen=True, kw_only=True)
class FileOptions(Settings):
    """Options for reading files that do not describe themselves."""

    layout: str | Path | Mapping[str, Any] | None = setting(None, LAYOUT)
    character: str | None = setting(
        None,
        "Robot model (.xml, .urdf) of robot files (.csv, .npz), and the frame rate of CSV files, "
        "as in g1.xml@60. [model next to the file, 30]",
        metavar="MODEL[@FPS]",
    )


@dataclass(frozen=True, kw_only=True)
class ImportSettings(Settings):
    """Settings for an import; see `motionloom.Library.add`."""

    labels: LabelRule | tuple[LabelRule, ...] | None = setting(
        None,
        "Source of the labels: 'folder', 'pattern:REGEX' with a group (?P<label>...) on the file "
        "name, or a CSV file with columns file and label. May be repeated.",
        metavar="RULE",
    )
    label_columns: str | tuple[str, ...] | None = setting(
        None,
        "Column of the CSV file that contains the labels. May be repeated.",
        option="--label-column",
        metavar="TEXT",
    )
    fps: float | None = setting(
        None, "Frame rate of the library, to which all motions are resampled."
    )
    unit: str | float | None = setting(None, UNIT)
    up: str | None = setting(None, UP)
    roles: str | Path | Mapping[str, str] | None = setting(None, ROLES)
    files: FileOptions = setting(FileOptions(), "Options of individual kinds of files.")
    clean: bool = setting(False, "Repair faults that motionloom clean can repair.")
    force: bool = setting(False, "Read files again even if they are unchanged.")
    workers: int | None = setting(None, "Number of worker processes. [one per core]", least=1)

    def reader_options(self) -> dict[str, Any]:
        """Check the reader options once for all files, and return them.

        Raises
        ------
        InvalidInput
            If the unit, the up axis or the roles are invalid.
        """
        options: dict[str, Any] = {}
        if self.unit is not None:
            from motionloom.formats.inference import unit_from

            unit_from(self.unit)
            options["unit"] = self.unit
        if self.up is not None:
            from motionloom.formats.inference import UP_AXES

            if self.up not in UP_AXES:
                raise InvalidInput(f"up must be one of {', '.join(UP_AXES)}; got {self.up!r}")
            options["up"] = self.up
        if self.files.character is not None:
            from motionloom.formats.robot import load_robot

            model, _, rate = self.files.character.rpartition("@")
            if not model:
                model, rate = rate, ""
            load_robot(model)
            options["robot"] = model
            if rate:
                try:
                    options["robot_fps"] = float(rate)
                except ValueError:
                    options["robot_fps"] = math.nan
                if not 0.0 < options["robot_fps"] < math.inf:
                    raise InvalidInput(
                        f"the rate after @ must be a positive number, as in g1.xml@60; got {rate!r}"
                    )
        if self.roles is not None:
            from motionloom.motion.roles.assignment import load_role_map

            roles = self.roles if isinstance(self.roles, Mapping) else load_role_map(self.roles)
            options["roles"] = dict(roles)
        if self.files.layout is not None:
            from motionloom.motion.positions.layouts import LAYOUTS, layout_named

            layout = layout_named(self.files.layout)
            # The content of a file, so that an import notices when it changes.
            options["layout"] = layout.name if layout.name in LAYOUTS else layout.to_json()
        if self.clean:
            options["clean"] = True
        return options


@dataclass(frozen=True, kw_only=True)
class TrainingSet(Settings):
    """Settings for choosing a training set; see `motionloom.Library.export`."""

    takes: int | None = setting(
        None, "Training set: number of takes, chosen evenly among similar ones. [all]", least=1
    )
    splits: str = setting(
        "80/10/10", "Training set: percentages for training, validation and test."
    )
    performers: str = setting(
        "skeleton",
        "Training set: takes with one skeleton are of one performer; or a regular expression "
        "whose first group names the performer.",
        metavar="REGEX",
        expert=True,
    )
    duplicate_distance: float = setting(
        0.02, "Training set: mean distance of near-duplicates.", unit="m", above=0.0, expert=True
    )
    seed: int = setting(0, "Training set: random seed of the splits.", least=0, expert=True)

    def shares(self) -> tuple[float, ...]:
        """Return the shares of the three splits.

        Examples
        --------
        >>> TrainingSet(splits="70/15/15").shares()
        (0.7, 0.15, 0.15)
        """
        try:
            shares = [float(word) for word in self.splits.split("/")]
        except ValueError:
            shares = []
        if (
            len(shares) != 3
            or not all(0.0 <= share <= 100.0 for share in shares)
            or not any(shares)
        ):
            raise InvalidInput(f"splits must be three percentages, 80/10/10; got {self.splits!r}")
        return tuple(share / sum(shares) for share in shares)

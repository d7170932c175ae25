"""Which motions of a library are searched: by label, by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.store.store import Store


def chosen_mask(
    library: Store,
    names: Sequence[str],
    *,
    within: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
) -> NDArray[np.bool_] | None:
    """Which of `names` are to be searched, shape (M,); None for all.

    Parameters
    ----------
    library : Store
    names : sequence of str
    within : str or several, optional
        Labels; motions with one of them are searched.
    only, without : str or several, optional
        Names of motions.

    Raises
    ------
    InvalidInput
        If there is no such label, or if nothing is left to search.
    LibraryError
        If there is no such motion.
    """
    if within is None and only is None and without is None:
        return None
    chosen = set(names)
    if within is not None:
        labels = _several(within)
        chosen &= {name for label in labels for name in labelled(library, label)}
    if only is not None:
        chosen &= {library.entry(name).name for name in _several(only)}
    if without is not None:
        chosen -= {library.entry(name).name for name in _several(without)}
    if not chosen:
        raise InvalidInput("within, only and without leave no motion to search")
    return np.array([name in chosen for name in names])


def chosen_names(
    library: Store,
    *,
    within: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
) -> list[str]:
    """Names of the motions that are chosen, in the library's order; see `chosen_mask`.

    Examples
    --------
    >>> chosen_names(lib, only=["walk"])
    ['walk']
    """
    names = library.names
    chosen = chosen_mask(library, names, within=within, only=only, without=without)
    return [name for k, name in enumerate(names) if chosen is None or chosen[k]]


def whole_takes(
    library: Store, first: str, *, within: str | Iterable[str] | None = None
) -> list[str]:
    """Names of all motions with one of these labels, `first` before the others."""
    name = library.entry(first).name
    return [name, *(one for one in chosen_names(library, within=within) if one != name)]


def _several(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def labelled(library: Store, label: str) -> tuple[str, ...]:
    """Names of the motions with a label; an error that names others if there are none."""
    found = library.with_label(label)
    if not found:
        known = list(library.label_counts())
        near = difflib.get_close_matches(label, known, n=5) or known[:8]
        there_are = f"there are {', '.join(near)}" if near else "no motion has any label"
        raise InvalidInput(f"within: no motion is labelled {label!r}; {there_are}")
    return found

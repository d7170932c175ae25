"""Selection of motions in a library by label or name."""

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
    label: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> NDArray[np.bool_] | None:
    """Return a mask of the selected `names`, shape (M,), or None if all are selected.

    Parameters
    ----------
    library : Store
    names : sequence of str
    label : str or several, optional
        Select the motions with one of these labels.
    only, exclude : str or several, optional
        Names of motions to select, and names of motions to exclude.

    Raises
    ------
    InvalidInput
        If no motion has the label, or no motion remains.
    LibraryError
        If the library has no motion with one of the names.
    """
    if label is None and only is None and exclude is None:
        return None
    left = set(names)
    if label is not None:
        left &= {name for each in _several(label) for name in labeled(library, each)}
    if only is not None:
        left &= {library.entry(name).name for name in _several(only)}
    if exclude is not None:
        left -= {library.entry(name).name for name in _several(exclude)}
    if not left:
        raise InvalidInput("label, only and exclude together select no motions")
    return np.array([name in left for name in names])


def chosen_names(
    library: Store,
    *,
    label: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> list[str]:
    """Return the names of the selected motions, in library order; see `chosen_mask`.

    Examples
    --------
    >>> chosen_names(lib.store, only=["walk"])
    ['walk']
    """
    names = library.names
    mask = chosen_mask(library, names, label=label, only=only, exclude=exclude)
    return [name for k, name in enumerate(names) if mask is None or mask[k]]


def chosen_set(
    library: Store,
    *,
    label: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> set[str] | None:
    """Return the names of the selected motions, or None if there is no filter."""
    if label is None and only is None and exclude is None:
        return None
    return set(chosen_names(library, label=label, only=only, exclude=exclude))


def labeled(library: Store, label: str) -> tuple[str, ...]:
    """Return the names of the motions that have a label.

    Raises
    ------
    InvalidInput
        If no motion has the label. The message suggests similar labels.
    """
    names = library.with_label(label)
    if not names:
        labels = list(library.label_counts())
        near = difflib.get_close_matches(label, labels, n=5)
        if near:
            advice = f"did you mean {', '.join(near)}?"
        else:
            some = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
            advice = f"labels in this library: {some}" if labels else "this library has no labels"
        raise InvalidInput(f"no motion is labeled {label!r}; {advice}")
    return names


def _several(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)

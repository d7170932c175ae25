"""Selection of motions in a library by label or name."""

from __future__ import annotations

import difflib
import re
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
        Names of motions to select, and names of motions to exclude. ``*`` stands for any text.

    Raises
    ------
    InvalidInput
        If no motion has the label or matches a pattern, or no motion remains.
    LibraryError
        If the library has no motion with one of the names.
    """
    if label is None and only is None and exclude is None:
        return None
    left = set(names)
    if label is not None:
        left &= {name for each in _several(label) for name in labeled(library, each)}
    if only is not None:
        left &= _named(library, only)
    if exclude is not None:
        left -= _named(library, exclude)
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


def chosen_together(
    library: Store,
    takes: Iterable[str | Sequence[str]] | None = None,
    *,
    label: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> list[list[str]]:
    """Return groups of motions that belong together; most groups contain a single motion.

    In `takes` and `only`, ``A+B`` joins motions into a group, and ``*`` stands for any text.

    Examples
    --------
    >>> chosen_together(lib.store, ["walk", "walk+jog"])
    [['walk'], ['walk', 'jog']]
    >>> chosen_together(lib.store, only="walk*+walk*")
    [['walk', 'walk'], ['walk_fast', 'walk_fast']]
    """
    joined = only is not None and any("+" in text for text in _several(only))
    if takes is None and joined:
        takes = _several(only or ())
        names = chosen_names(library, label=label, exclude=exclude)
    elif takes is None:
        return [[name] for name in chosen_names(library, label=label, only=only, exclude=exclude)]
    else:
        names = list(library.names)
    groups: list[list[str]] = []
    for take in takes:
        if isinstance(take, str):
            groups += [text.split("+") for text in expanded(take, names)]
        else:
            groups.append(list(take))
    return groups


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


def expanded(text: str, names: Sequence[str]) -> list[str]:
    """Return names that match a pattern; ``60_*+61_*`` pairs names with equal wildcard text.

    Examples
    --------
    >>> expanded("60_*+61_*", ["60_01", "60_02", "61_01", "61_02"])
    ['60_01+61_01', '60_02+61_02']
    >>> expanded("walk", ["walk_1", "walk_2"])
    ['walk']
    """
    if "*" not in text:
        return [text]
    first, *others = text.split("+")
    pattern = re.compile("(.*)".join(re.escape(piece) for piece in first.split("*")))
    matches = []
    for name in names:
        match = pattern.fullmatch(name)
        if match is not None:
            parts = [name, *(_filled(other, match.groups()) for other in others)]
            if set(parts) <= set(names):
                matches.append("+".join(parts))
    if not matches:
        raise InvalidInput(
            f"no motion matches {text}; the first motions are {', '.join(names[:8])} ..."
        )
    return matches


def _filled(pattern: str, pieces: Sequence[str]) -> str:
    """Replace the wildcards of a pattern."""
    for piece in pieces:
        pattern = pattern.replace("*", piece, 1)
    return pattern


def _named(library: Store, texts: str | Iterable[str]) -> set[str]:
    """Return the names of motions that names and patterns refer to."""
    return {
        library.entry(name).name
        for text in _several(texts)
        for name in (expanded(text, library.names) if "*" in text else [text])
    }


def _several(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)

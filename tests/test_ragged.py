"""Ragged arrays: rows, offsets, and which row holds an index."""

import numpy as np
import pytest

from motionloom.errors import InvalidInput
from motionloom.ragged import Ragged, offsets_of


def test_rows_come_back_as_views(rng):
    rows = [rng.normal(size=(n, 2)) for n in (3, 0, 1, 5)]
    ragged = Ragged.from_rows(rows)
    assert len(ragged) == 4
    for row, again, also in zip(rows, ragged, ragged.rows, strict=True):
        np.testing.assert_array_equal(row, again)
        np.testing.assert_array_equal(row, also)
    assert np.shares_memory(ragged[3], ragged.values)
    np.testing.assert_array_equal(ragged[-1], rows[-1])
    np.testing.assert_array_equal(ragged.lengths, [3, 0, 1, 5])


def test_every_index_is_in_the_row_that_holds_it(rng):
    lengths = rng.integers(0, 4, 30)
    ragged = Ragged.from_lengths(np.arange(lengths.sum()), lengths)
    for number, row in enumerate(ragged):
        np.testing.assert_array_equal(ragged.row_of(row), number)


def test_no_rows_and_only_empty_rows():
    assert len(Ragged.from_rows([])) == 0
    assert Ragged.from_rows([[], []], dtype=np.float32).values.dtype == np.float32
    np.testing.assert_array_equal(offsets_of([]), [0])


def test_invalid_input_is_reported():
    with pytest.raises(
        InvalidInput, match="offsets must start at 0, never decrease, and end at 3, the number"
    ):
        Ragged(np.zeros(3), np.array([0, 2]))
    with pytest.raises(InvalidInput, match="never decrease"):
        Ragged(np.zeros(3), np.array([0, 2, 1, 3]))
    with pytest.raises(IndexError, match="row 2 does not exist"):
        Ragged.from_lengths(np.zeros(3), [1, 2])[2]

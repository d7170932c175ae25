import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motionloom.formats.number_rows import number_rows


def rows(text):
    return number_rows(np.frombuffer(text.encode(), np.uint8))


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from(["r", ".6f", ".17g", "e", "+.3E", ".0f"]),
        ),
        min_size=1,
        max_size=50,
    )
)
def test_agrees_with_python_to_the_last_place_but_one(numbers):
    words = [repr(x) if style == "r" else format(x, style) for x, style in numbers]
    expected = np.array([float(word) for word in words])
    npt.assert_array_max_ulp(rows(" ".join(words)).values, expected, maxulp=2)


@pytest.mark.parametrize(
    "word",
    ["0", "-0", "+1.5", "1.", ".5", "1e5", "1.5E+002", "1e-400", "0e999", "00012.50",
     "123456789012345678901234567890", "0.000000000000000000000000000001234"],
)  # fmt: skip
def test_reads_every_spelling_of_a_number(word):
    assert rows(word).values == pytest.approx(float(word), rel=1e-15)


def test_records_the_line_of_each_number():
    result = rows("\n1 2\r\n\n  \n3\t4 5\n6")
    npt.assert_array_equal(result.values, [1, 2, 3, 4, 5, 6])
    npt.assert_array_equal(result.line_starts, [0, 2, 5, 6])
    npt.assert_array_equal(result.line_numbers, [1, 4, 5])
    assert result.stopped_at == -1


@pytest.mark.parametrize(
    ("text", "stopped_at", "read"),
    [("1 2 x3", 4, 2), ("1 nan", 2, 1), ("1.2.3", 0, 0), ("1e 2", 0, 0), ("- 1", 0, 0),
     ("1,5", 0, 0), ("5 0x10", 2, 1)],
)  # fmt: skip
def test_stops_at_the_first_word_that_is_not_a_number(text, stopped_at, read):
    result = rows(text)
    assert (result.stopped_at, len(result.values)) == (stopped_at, read)


def test_splits_joined_numbers_and_reports_their_line():
    result = rows("1 2\n0.0-7.509 3\n")
    npt.assert_array_equal(result.values, [1, 2, 0, -7.509, 3])
    assert result.glued_at == 1
    assert rows("1e-5 2").glued_at == -1

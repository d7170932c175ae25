"""Parser for whitespace-separated numbers in bytes, at memory speed.

The kernel makes one pass over the bytes, accumulates digits in a 64-bit integer and scales by a
power of ten from a table. With up to 15 digits and a power of up to 22, both are exact, so the
quotient is rounded only once and equals the result of Python's ``float``. The kernel records the
positions of all other numbers, which ``float`` then reads. It also records where each line starts,
so that the lengths of rows can be checked, and stops at the first word that is not a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel

_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # powers of ten that are exact
_EXACT = 2**53  # integers up to this one are exact as floats
_PLAIN = b"0123456789+-.eE \t\n\r\v\f"


@dataclass(frozen=True)
class NumberRows:
    """Numbers parsed from text, and their line numbers.

    Attributes
    ----------
    values : ndarray, shape (N,)
        All numbers in reading order.
    line_starts : ndarray of int, shape (L + 1,)
        Index into `values` of the first number of each line that is not blank, followed by N.
    line_numbers : ndarray of int, shape (L,)
        Number of each line that is not blank, counted from 0.
    glued_at : int
        Line of the first two numbers without a space between them (``0.0-7.509``), or -1.
    stopped_at : int
        Position of the first word that is not a number, or -1 if everything was read.
    """

    values: NDArray[np.float64]
    line_starts: NDArray[np.integer]
    line_numbers: NDArray[np.integer]
    glued_at: int
    stopped_at: int


def number_rows(data: NDArray[np.uint8], start: int = 0) -> NumberRows:
    r"""Read numbers from `data` (bytes as uint8) from byte `start` to the end.

    Examples
    --------
    >>> rows = number_rows(np.frombuffer(b"1 -2.5e1\n.5\n", np.uint8))
    >>> rows.values, rows.line_starts
    (array([  1. , -25. ,   0.5]), array([0, 2, 3], dtype=int32))
    """
    body = data[start:]
    # This reserves only virtual memory, because pages beyond the last number are never touched.
    values = np.empty(len(body) // 2 + 2, np.float64)
    lines = int(np.count_nonzero(body == 10)) + 2
    index: type[np.integer] = np.int32 if len(body) < 2**31 else np.int64
    line_starts = np.empty(lines + 1, index)
    line_numbers = np.empty(lines, index)
    # The shortest number that ``float`` must read is 1e23.
    long = np.empty((len(body) // 4 + 1, 3), index)
    count, n_lines, n_long, glued_at, stopped_at = _scan(
        body, _POWERS, values, line_starts, line_numbers, long
    )
    if n_long:
        text = body.tobytes()
        for number, first, last in long[:n_long].tolist():
            values[number] = float(text[first:last])
    return NumberRows(
        values[:count],
        line_starts[: n_lines + 1],
        line_numbers[:n_lines],
        glued_at,
        stopped_at + start if stopped_at >= 0 else -1,
    )


def _scan_plain(data, powers, values, line_starts, line_numbers, long):
    """Do the work of `_scan` without Numba; leave text that contains non-numbers to `_scan`."""
    text = data.tobytes()
    space = (data == 32) | ((data >= 9) & (data <= 13))
    words = np.flatnonzero(np.diff(space, prepend=True) & ~space)  # start of each word
    try:
        plain = not text.translate(None, _PLAIN)  # NumPy also reads nan and inf
        numbers = np.fromstring(text, np.float64, sep=" ") if plain and len(words) else np.empty(0)
    except (ValueError, DeprecationWarning):
        numbers = np.empty(0)
    if len(numbers) != len(
        words
    ):  # equal counts mean that no number is malformed or joined to another
        return _scan.compiled(data, powers, values, line_starts, line_numbers, long)
    ends = np.append(np.flatnonzero(data == 10), len(data))
    counts = np.searchsorted(words, ends)
    filled = np.flatnonzero(np.diff(counts, prepend=0))
    values[: len(numbers)] = numbers
    line_numbers[: len(filled)] = filled
    line_starts[0] = 0
    line_starts[1 : len(filled) + 1] = counts[filled]
    return len(numbers), len(filled), 0, -1, -1


@kernel(numpy=_scan_plain, nanoseconds=15)
def _scan(data, powers, values, line_starts, line_numbers, long):
    """Scan numbers in `data` (B,) into `values`, and record lines and inexact numbers.

    powers (23,) contains powers of ten. The arrays values (at least B / 2 + 1,), line_starts
    (L + 1,), line_numbers (L,) and long (M, 3) are filled from the start. A row of long is the
    index of an inexact number, its first and its last byte. Returns the counts of numbers, lines
    and inexact numbers, the line of the first two numbers without a space (or -1), and the position
    of the first word that is not a number (or -1).
    """
    n = data.shape[0]
    position = 0
    count = 0
    n_lines = 0
    n_long = 0
    line = 0
    fresh = True  # no number on this line yet
    glued_at = -1
    while position < n:
        c = data[position]
        if c == 10:
            line += 1
            fresh = True
            position += 1
            continue
        if c == 32 or c == 9 or c == 13 or c == 11 or c == 12:
            position += 1
            continue
        # A number: sign, digits, point, digits, exponent.
        token = position
        negative = c == 45
        if negative or c == 43:
            position += 1
        mantissa = np.uint64(0)
        digits = 0  # significant digits taken into the mantissa
        seen = 0  # all digits, including leading zeros; a number has at least one
        exponent = 0
        # 19 digits fit into 64 bits without overflow. Further digits only shift the exponent, and
        # `float` reads the number again, because it exceeds 2**53.
        while position < n:
            d = np.uint64(data[position]) - np.uint64(48)
            if d > np.uint64(9):  # unsigned, so characters below "0" wrap around to values above 9
                break
            seen += 1
            if digits < 19:
                mantissa = mantissa * np.uint64(10) + d
                if mantissa > 0:
                    digits += 1
            else:
                exponent += 1
            position += 1
        if position < n and data[position] == 46:
            position += 1
            while position < n:
                d = np.uint64(data[position]) - np.uint64(48)
                if d > np.uint64(9):
                    break
                seen += 1
                if digits < 19:
                    mantissa = mantissa * np.uint64(10) + d
                    if mantissa > 0:
                        digits += 1
                    exponent -= 1
                position += 1
        if seen == 0:
            line_starts[n_lines] = count
            return count, n_lines, n_long, glued_at, token
        if position < n and (data[position] == 101 or data[position] == 69):
            position += 1
            minus = False
            if position < n and (data[position] == 45 or data[position] == 43):
                minus = data[position] == 45
                position += 1
            power = 0
            seen = 0
            while position < n:
                d = np.uint64(data[position]) - np.uint64(48)
                if d > np.uint64(9):
                    break
                seen += 1
                if (
                    power < 100000
                ):  # larger exponents give zero or infinity; the limit prevents overflow
                    power = power * 10 + int(d)
                position += 1
            if seen == 0:
                line_starts[n_lines] = count
                return count, n_lines, n_long, glued_at, token
            exponent += -power if minus else power
        if position < n:
            c = data[position]
            if c == 43 or c == 45:  # "0.0-7.509": two numbers, as some programs write them
                if glued_at < 0:
                    glued_at = line
            elif not (c == 32 or c == 10 or c == 9 or c == 13 or c == 11 or c == 12):
                line_starts[n_lines] = count
                return count, n_lines, n_long, glued_at, token
        # An exact integer times or divided by an exact power of ten is rounded once by IEEE, as in
        # `float`. Negative powers have no exact value, and a product would round twice; divide
        # instead.
        value = float(mantissa)
        if mantissa > _EXACT or (mantissa > 0 and abs(exponent) > 22):
            long[n_long, 0], long[n_long, 1], long[n_long, 2] = count, token, position
            n_long += 1
        elif mantissa > 0 and exponent > 0:
            value *= powers[exponent]
        elif mantissa > 0:
            value /= powers[-exponent]
        if fresh:
            line_starts[n_lines] = count
            line_numbers[n_lines] = line
            n_lines += 1
            fresh = False
        values[count] = -value if negative else value
        count += 1
    line_starts[n_lines] = count
    return count, n_lines, n_long, glued_at, -1

"""Validation of untrusted arrays, whose types and shapes are checked before a kernel uses them."""

from __future__ import annotations

import math
import mmap
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import LibraryError, MotionFormatError
from motionloom.files import check_regular

LARGEST_ARRAYS = 1 << 30  # maximum total size of the arrays in one .npz file, in bytes
_PAGE = 4096  # size of a page, in bytes
_KEPT = 1 << 22  # files of at least this many bytes stay mapped after they are verified
# Files that `page_checksum` kept mapped, with their inode, size and modification time then.
_mapped: dict[str, tuple[tuple[int, int, int], np.memmap]] = {}


def open_array(path: Path, *, memory_map: bool = True) -> NDArray[Any]:
    """Open the array in a ``.npy`` file, refusing object arrays.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    LibraryError
        If it is not a regular file, is invalid, or is shorter than its header says.
    """
    try:
        status = check_regular(path)
        size = status.st_size
        with open(path, "rb") as file:
            shape, order, dtype = npy_header(file)
            begin = file.tell()
        # Computed with Python integers, because NumPy integers could overflow.
        length = math.prod(shape) * dtype.itemsize
        if begin + length > size:
            raise ValueError(
                f"shape {shape} needs {length} bytes of data, but only {size - begin} follow"
            )
        if not length:
            return np.empty(shape, dtype, order)
        kept = _mapped.pop(str(path), None)
        if kept is not None and kept[0] == _state(status):
            table = kept[1][begin : begin + length].view(dtype).reshape(shape, order=order)
        else:
            table = np.memmap(path, dtype, "r", begin, shape, order)
        table = _in_rows(table)
        return table if memory_map else np.array(table)
    except FileNotFoundError:
        raise
    except Exception as error:  # NumPy's header reader raises whatever its parser raises
        raise _damaged(path, error) from None


def _in_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels expect it: its rows contiguous, its numbers aligned."""
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.require(np.asarray(array), requirements=["C", "A"])


def release(*arrays: NDArray[Any]) -> None:
    """Unmap the pages of memory-mapped files that have been read so far.

    The pages stay in the system cache as long as there is room, and are mapped again on the next
    read. Without this, a process that reads scattered parts of files would eventually map them
    completely. Arrays that are not memory-mapped are not affected.
    """
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):  # Linux
            mapping.madvise(mmap.MADV_DONTNEED)


def page_checksum(path: Path, *, keep: bool = False) -> tuple[int, int]:
    """Return a file's size in bytes and the CRC-32 of its page sums.

    A page has 4096 bytes, and the last page is padded with zeros. The page sum adds its 64-bit
    words modulo 2**64. The checksum detects any damage within one word, and swapped pages. It does
    not detect swapped words within one page, which the CRC-32 of the whole file does
    (`motionloom.files.file_checksum`), but it is faster, at 11 GB per second.

    With `keep`, a large file stays mapped until `open_array` opens it or `forget_mappings` is
    called. `open_array` then returns exactly the verified data without mapping it again.

    Raises `LibraryError` if `path` is not a regular file.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     _ = file.write(bytes(5000)), file.flush()
    ...     page_checksum(Path(file.name)) == (5000, zlib.crc32(bytes(2 * 8)))
    True
    """
    try:
        status = check_regular(path)
    except MotionFormatError as error:
        raise LibraryError(str(error)) from None
    size = status.st_size
    if not size:
        return 0, 0
    data = np.memmap(path, np.uint8, "r", 0, (size,))
    whole = size - size % _PAGE
    sums = np.zeros(-(-size // _PAGE), "<u8")
    np.add.reduce(
        data[:whole].view("<u8").reshape(-1, _PAGE // 8), axis=1, out=sums[: whole // _PAGE]
    )
    if size > whole:
        sums[-1] = np.add.reduce(np.frombuffer(data[whole:].tobytes().ljust(_PAGE, b"\0"), "<u8"))
    if keep and size >= _KEPT:
        _mapped[str(path)] = _state(status), data
    return size, zlib.crc32(sums.data)


def forget_mappings() -> None:
    """Unmap the files that were verified but not opened."""
    _mapped.clear()


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Return the shape, memory order and dtype of the array in a ``.npy`` file.

    Raises `ValueError` if the header is invalid.
    """
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"unsupported .npy header version {version}; expected 1.0 or 2.0")
    shape, fortran, dtype = read(file)
    _check_dtype(dtype)
    if any(not 0 <= length < 1 << 48 for length in shape):
        raise ValueError(f"the header has an impossible shape, {shape}")
    too_large = math.prod(length or 1 for length in shape) > 1 << 48  # including empty arrays
    if len(shape) > 32 or too_large:  # more than NumPy allows
        raise ValueError(f"the header has an impossible shape, {shape}")
    return shape, "F" if fortran else "C", dtype


def _check_dtype(dtype: np.dtype[Any]) -> None:
    """Raise `ValueError` for anything but text and numbers that kernels can read."""
    plain = dtype.kind in "biuSU" or dtype.char in "fd"
    if not plain or not dtype.itemsize or dtype.fields or not dtype.isnative:
        raise ValueError(f"expected numbers, found {dtype} values")


def open_arrays(path: Path, *, largest: int = LARGEST_ARRAYS) -> dict[str, NDArray[Any]]:
    """Open all arrays in an ``.npz`` file, limited to `largest` bytes in total.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    LibraryError
        If it is damaged, exceeds the limit, or contains anything other than arrays.
    """
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as members:
            size = sum(max(0, member.file_size) for member in members.infolist())
        if size > largest:
            raise ValueError(f"the arrays take {size} bytes; the limit is {largest}")
        with np.load(path, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        if any(not isinstance(value, np.ndarray) for value in arrays.values()):
            raise ValueError("the file contains members that are not arrays")
        for array in arrays.values():
            _check_dtype(array.dtype)
        return {key: _in_rows(array) for key, array in arrays.items()}
    except FileNotFoundError:
        raise
    except Exception as error:  # raised by zipfile, zlib and NumPy's header reader
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> LibraryError:
    reason = str(error).strip().splitlines()
    return LibraryError(f"{path}: damaged: {reason[0][:200] if reason else type(error).__name__}")


def check_offsets(values: Iterable[int] | NDArray[Any], total: int, what: str) -> NDArray[np.int64]:
    """Return offsets as int64 if they start at 0, never decrease and end at `total`.

    Raises
    ------
    LibraryError
        If the offsets are invalid, because kernels would then read out of bounds.

    Examples
    --------
    >>> check_offsets([0, 2, 5], 5, "starts")
    array([0, 2, 5])
    """
    try:
        offsets = np.asarray(values)
        if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or not len(offsets):
            raise ValueError(
                f"expected a list of whole numbers, found {offsets.dtype} of shape {offsets.shape}"
            )
        if offsets.dtype.itemsize == 8 and offsets.dtype.kind == "u":
            if offsets.max() > np.iinfo(np.int64).max:
                raise ValueError("an offset is too large")
        offsets = offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != total or (offsets[1:] < offsets[:-1]).any():
            raise ValueError(
                f"offsets must never decrease, and must go from 0 to {total}; they go from "
                f"{offsets[0]} to {offsets[-1]}"
            )
    except (ValueError, TypeError, OverflowError) as error:
        raise LibraryError(f"damaged {what}: {error}") from None
    return offsets


def check_shapes(
    arrays: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[str, tuple[str | int, ...]]],
    **sizes: int,
) -> dict[str, int]:
    """Check the types and shapes of arrays, and return the size that each shape letter stands for.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays to check, by name.
    expected : mapping of str to (kind, shape)
        The kind is ``float``, ``int`` or ``bool``. Values of kind ``float`` must be finite, and
        small enough that sums of their squares are finite. A shape consists of numbers and
        letters, such as ``("F", "J", 4)`` or ``("K-1",)``. A letter stands for the same number
        everywhere.
    **sizes : int
        Sizes, known in advance, of some of the letters.

    Raises
    ------
    LibraryError
        If an array is missing or does not fit, because kernels would then read out of bounds.

    Examples
    --------
    >>> check_shapes({"a": np.eye(3), "b": np.ones(2)}, {"a": ("float", ("N", "N")),
    ...     "b": ("float", ("N-1",))})
    {'N': 3}
    """
    kinds = {"float": "f", "int": "iu", "bool": "b"}
    lengths = dict(sizes)
    for name, (kind, shape) in expected.items():
        array = arrays.get(name)
        if array is None:
            raise LibraryError(f"damaged: the array {name} is missing")
        wanted: list[int | str] = []
        for letter, length in zip(shape, array.shape, strict=False):
            if isinstance(letter, str):
                base, more = letter[:1], int(letter[1:] or 0)
                lengths.setdefault(base, length - more)
                letter = lengths[base] + more
            wanted.append(letter)
        if (
            array.dtype.kind not in kinds[kind]
            or array.ndim != len(shape)
            or (tuple(wanted) != array.shape)
        ):
            raise LibraryError(
                f"damaged: {name} must be {kind} of shape {shape}; found {array.dtype} of shape "
                f"{array.shape}"
            )
        if kind == "float" and not (np.abs(array) < largest_value(array.dtype)).all():
            raise LibraryError(
                f"damaged: {name} contains values that are not finite or are too large"
            )
    return lengths


def largest_value(dtype: np.dtype[Any]) -> np.floating:
    """Return a limit for values whose squares, summed a million times, are still finite."""
    return np.sqrt(np.finfo(dtype).max) / dtype.type(1000)

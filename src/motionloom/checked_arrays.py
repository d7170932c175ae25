"""Validation of untrusted arrays: types and shapes are checked before a kernel sees them."""

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

LARGEST_ARRAYS = 1 << 30  # maximum size of all arrays of one .npz file, in bytes
_PAGE = 4096  # bytes per checksum
_KEPT = 1 << 22  # bytes; larger files stay mapped after they are verified
# Files that `page_checksum` kept mapped, with their state at that time.
_mapped: dict[str, tuple[tuple[int, int, int], np.memmap]] = {}


def open_array(path: Path, *, memory_map: bool = True) -> NDArray[Any]:
    """Open the array in a ``.npy`` file, refusing object arrays.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    LibraryError
        If it is not a regular file, is not valid, or is shorter than its header says.
    """
    try:
        status = check_regular(path)
        size = status.st_size
        with open(path, "rb") as file:
            shape, order, dtype = npy_header(file)
            begin = file.tell()
        # With Python integers, because NumPy's would overflow.
        length = math.prod(shape) * dtype.itemsize
        if begin + length > size:
            raise ValueError(f"expected {length} bytes for the shape {shape}, found {size - begin}")
        if not length:
            return np.empty(shape, dtype, order)
        kept = _mapped.pop(str(path), None)
        if kept is not None and kept[0] == _state(status):
            table = kept[1][begin : begin + length].view(dtype).reshape(shape, order=order)
        else:
            table = np.memmap(path, dtype, "r", begin, shape, order)
        return table if memory_map else np.array(table)
    except FileNotFoundError:
        raise
    except Exception as error:  # NumPy's header reader raises whatever its parser raises
        raise _damaged(path, error) from None


def release(*arrays: NDArray[Any]) -> None:
    """Unmap the pages of memory-mapped files that have been read so far.

    The pages stay in the system cache as long as there is room, and are mapped again when they are
    read. Without this, a process with scattered reads would eventually map whole files. Arrays in
    memory are not affected.
    """
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):  # Linux
            mapping.madvise(mmap.MADV_DONTNEED)


def page_checksum(path: Path, *, keep: bool = False) -> tuple[int, int]:
    """Return a file's size in bytes, and the CRC-32 of its page sums (11 GB per second).

    A page has 4096 bytes; its sum is the sum of its 64-bit words, modulo 2**64, and the last page
    is padded with zeros. The checksum detects any damage within one word, and swapped pages. Unlike
    the CRC-32 of the whole file (`motionloom.files.file_checksum`), it does not detect swapped
    words within one page. With `keep`, a large file stays mapped for `open_array` until
    `forget_mappings`, so exactly the verified data is opened next, and its pages are mapped only
    once.

    Raises `LibraryError` if it is not a regular file.

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
    """Release files that were verified but not opened."""
    _mapped.clear()


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Return the shape, order and type of the array in a ``.npy`` file.

    Raises `ValueError` if the header is invalid.
    """
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"unsupported header version {version}")
    shape, fortran, dtype = read(file)
    if dtype.hasobject or not dtype.itemsize or dtype.fields:
        raise ValueError(f"expected numbers, found {dtype}")
    if any(not 0 <= length < 1 << 48 for length in shape):
        raise ValueError(f"expected lengths, found {shape}")
    too_large = math.prod(length or 1 for length in shape) > 1 << 48  # including empty arrays
    if len(shape) > 32 or too_large:  # more than NumPy allows
        raise ValueError(f"expected lengths, found {shape}")
    return shape, "F" if fortran else "C", dtype


def open_arrays(path: Path, *, largest: int = LARGEST_ARRAYS) -> dict[str, NDArray[Any]]:
    """Open all arrays in an ``.npz`` file, limited to `largest` bytes in total.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    LibraryError
        If it is damaged, too large, or contains anything else.
    """
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as members:
            size = sum(max(0, member.file_size) for member in members.infolist())
        if size > largest:
            raise ValueError(f"its arrays have {size} bytes, more than the limit of {largest}")
        with np.load(path, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        if any(not isinstance(value, np.ndarray) for value in arrays.values()):
            raise ValueError("it contains files that are not arrays")
        return arrays
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
        If they do not. Kernels would otherwise read out of bounds.

    Examples
    --------
    >>> check_offsets([0, 2, 5], 5, "starts")
    array([0, 2, 5])
    """
    try:
        offsets = np.asarray(values)
        if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or not len(offsets):
            raise ValueError(f"expected whole numbers, found {offsets.dtype} {offsets.shape}")
        if offsets.dtype.itemsize == 8 and offsets.dtype.kind == "u":
            if offsets.max() > np.iinfo(np.int64).max:
                raise ValueError("too large")
        offsets = offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != total or (offsets[1:] < offsets[:-1]).any():
            raise ValueError(
                f"expected to increase from 0 to {total}, found {offsets[0]} to {offsets[-1]}"
            )
    except (ValueError, TypeError, OverflowError) as error:
        raise LibraryError(f"damaged {what}: {error}") from None
    return offsets


def check_shapes(
    arrays: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[str, tuple[str | int, ...]]],
    **sizes: int,
) -> dict[str, int]:
    """Return the sizes denoted by the letters in shapes, if all arrays are consistent.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    expected : mapping of str to (kind, shape)
        The kind is ``float`` (finite, as are sums of squares), ``int`` or ``bool``. A shape
        consists of numbers and letters, such as ``("F", "J", 4)`` or ``("K-1",)``. A letter stands
        for the same number everywhere.
    **sizes : int
        Values of known letters.

    Raises
    ------
    LibraryError
        If an array is missing or does not fit. Kernels would otherwise read out of bounds.

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
            raise LibraryError(f"damaged: it has no array {name}")
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
                f"damaged: expected {name} to be {kind} of shape {shape}, found {array.dtype} of "
                f"{array.shape}"
            )
        if kind == "float" and not (np.abs(array) < largest_value(array.dtype)).all():
            raise LibraryError(f"damaged: {name} has values that are not finite or are too large")
    return lengths


def largest_value(dtype: np.dtype[Any]) -> np.floating:
    """Return the value below which sums of a million squares, and hence distances, are finite."""
    return np.sqrt(np.finfo(dtype).max) / dtype.type(1000)

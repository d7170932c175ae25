"""Arrays that are not trusted: read as declared, and checked before a kernel sees them."""

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

LARGEST_ARRAYS = 1 << 30  # bytes of all arrays of one .npz file
_PAGE = 4096  # bytes that have a sum of their own
_KEPT = 1 << 22  # bytes of a file that stays mapped when it was verified
# Files that `page_checksum` kept, and their state then.
_mapped: dict[str, tuple[tuple[int, int, int], np.memmap]] = {}


def open_array(path: Path, *, memory_map: bool = True) -> NDArray[Any]:
    """The array in a ``.npy`` file; never of objects.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    LibraryError
        If it is no regular file, is not valid, or is shorter than its header says.
    """
    try:
        status = check_regular(path)
        size = status.st_size
        with open(path, "rb") as file:
            shape, order, dtype = npy_header(file)
            begin = file.tell()
        # In whole numbers of Python: NumPy's own overflow.
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
    except Exception as error:  # NumPy's reader of headers raises whatever its parser raises
        raise _damaged(path, error) from None


def release(*arrays: NDArray[Any]) -> None:
    """Unmap the pages of memory-mapped files that were read so far.

    They stay in the system's cache as long as there is room, and are mapped again when they are
    read; without this a process that reads here and there would hold whole files in the end.
    Arrays in memory are not affected.
    """
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):  # Linux
            mapping.madvise(mmap.MADV_DONTNEED)


def page_checksum(path: Path, *, keep: bool = False) -> tuple[int, int]:
    """Bytes of a file, and the CRC-32 of the sums of its pages; of 11 GB in a second.

    A page has 4096 bytes; its sum is that of its 64-bit words, modulo 2**64, and the last page is
    filled with zeros. It changes with any damage within one word, and with pages that are
    exchanged; not if words of one page are exchanged, as the CRC-32 of the whole file does
    (`motionloom.files.file_checksum`). With `keep` a large file stays mapped for
    `open_array`, until `forget_mappings`: what is opened next is what was verified, and its pages
    are mapped once.

    Raises `LibraryError` if it is no regular file.

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
    """Let go of files that were verified and not opened."""
    _mapped.clear()


def _state(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Shape, order and type of the array in a ``.npy`` file; raises `ValueError` if it is odd."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"a header of version {version}")
    shape, fortran, dtype = read(file)
    if dtype.hasobject or not dtype.itemsize or dtype.fields:
        raise ValueError(f"expected numbers, found {dtype}")
    if any(not 0 <= length < 1 << 48 for length in shape):
        raise ValueError(f"expected lengths, found {shape}")
    too_large = math.prod(length or 1 for length in shape) > 1 << 48  # of empty arrays, too
    if len(shape) > 32 or too_large:  # more than NumPy's arrays may have
        raise ValueError(f"expected lengths, found {shape}")
    return shape, "F" if fortran else "C", dtype


def open_arrays(path: Path, *, largest: int = LARGEST_ARRAYS) -> dict[str, NDArray[Any]]:
    """All arrays of an ``.npz`` file, at most `largest` bytes together.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    LibraryError
        If it is damaged, larger than that, or holds something else.
    """
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as members:
            size = sum(max(0, member.file_size) for member in members.infolist())
        if size > largest:
            raise ValueError(f"its arrays have {size} bytes, at most {largest} are read")
        with np.load(path, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        if any(not isinstance(value, np.ndarray) for value in arrays.values()):
            raise ValueError("it holds other files than arrays")
        return arrays
    except FileNotFoundError:
        raise
    except Exception as error:  # of zipfile, zlib and NumPy's reader of headers
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> LibraryError:
    reason = str(error).strip().splitlines()
    return LibraryError(f"{path}: damaged: {reason[0][:200] if reason else type(error).__name__}")


def check_offsets(values: Iterable[int] | NDArray[Any], total: int, what: str) -> NDArray[np.int64]:
    """Offsets as int64, if they begin with 0, never decrease and end with `total`.

    Raises
    ------
    LibraryError
        If they do not: a kernel would read beyond its arrays.

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
                f"expected to rise from 0 to {total}, found {offsets[0]} to {offsets[-1]}"
            )
    except (ValueError, TypeError, OverflowError) as error:
        raise LibraryError(f"damaged {what}: {error}") from None
    return offsets


def check_shapes(
    arrays: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[str, tuple[str | int, ...]]],
    **sizes: int,
) -> dict[str, int]:
    """The sizes that the letters of shapes stand for, if all arrays fit together.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    expected : mapping of str to (kind, shape)
        Kind is ``float`` (finite, and so are sums of squares), ``int`` or ``bool``; a shape has
        numbers and letters, such as ``("F", "J", 4)`` or ``("K-1",)``. A letter stands for the
        same number everywhere.
    **sizes : int
        Letters that are known.

    Raises
    ------
    LibraryError
        If an array is missing or does not fit: a kernel would read beyond its end.

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
            raise LibraryError(f"damaged: {name} has values that are not finite, or too large")
    return lengths


def largest_value(dtype: np.dtype[Any]) -> np.floating:
    """Below it, sums of a million squares of values are finite, and so are distances."""
    return np.sqrt(np.finfo(dtype).max) / dtype.type(1000)

"""Kernels, which are functions that Numba compiles on their first call and caches by content.

Importing Numba takes longer than most small tasks, so no module imports it at the top. The
decorator `kernel` only registers the function, and the first call loads Numba and compiles it. A
kernel may have a NumPy equivalent with the same results (``numpy=``). The equivalent is used as
long as Numba is not loaded and the calls so far add up to little work.

Compiled code is cached in ``NUMBA_CACHE_DIR``, or in the user's cache folder if that is not set.
The cache key is the content of the kernel and of all kernels it calls (`motionloom.kernel_cache`).
With ``NUMBA_DISABLE_JIT=1``, kernels run as Python functions, for debuggers and coverage
measurements. Without Numba, they run as NumPy equivalents or Python functions: enough to read,
convert and show files, and a warning says that more takes long.

``kernel_signatures.txt`` lists the argument types that kernels are called with, so that
`compile_listed` can compile them before their first call.
"""

from __future__ import annotations

import functools
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from motionloom.errors import InvalidInput

# Time that NumPy equivalents may take in one process before Numba is loaded, in nanoseconds. This
# is about the time to import Numba and load a few cached kernels.
SMALL = 500_000_000
_CALL = 500_000  # nanoseconds that a NumPy equivalent takes for an empty array
# Raised if the disk is full or a cached file is damaged, but never by compiled functions.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)

kernels: dict[str, Kernel] = {}
_spent = 0.0


def kernel(
    function: Callable | None = None,
    *,
    numpy: Callable | None = None,
    nanoseconds: float = 0.0,
    signature: Callable | None = None,
    **options: Any,
):
    """Decorate a function to be compiled by Numba in nopython mode, without the GIL.

    Parameters
    ----------
    numpy : callable, optional
        Function with the same parameters and bit-identical results, for small arrays.
    nanoseconds : float
        Approximate time that `numpy` takes per array element.
    signature : callable, optional
        Function that returns the only signature to compile, as Numba types. Default: one signature
        is compiled for each combination of types that the function is called with.
    **options
        Options of `numba.njit`.

    Examples
    --------
    >>> @kernel
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.arange(4.0))
    6.0
    """
    decorated: Callable[..., Kernel] = functools.partial(
        Kernel, numpy=numpy, nanoseconds=nanoseconds, signature=signature, **options
    )
    return decorated if function is None else decorated(function)


class Kernel:
    """A function that is compiled on its first call; see `kernel`.

    Attributes
    ----------
    function : function
        The Python function.
    numpy : callable or None
        NumPy equivalent for small arrays, if there is one.
    """

    def __init__(
        self,
        function: Callable,
        *,
        numpy: Callable | None = None,
        nanoseconds: float = 0.0,
        signature: Callable | None = None,
        **options: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function: FunctionType = function  # type: ignore[assignment]
        self.numpy = numpy
        self.nanoseconds = nanoseconds
        self.signature = signature
        self.options = options
        self.cached = True
        kernels[f"{function.__module__}.{function.__qualname__}"] = self

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function, or its NumPy equivalent if the arrays are small."""
        if self.numpy is not None and _is_small(args, self.nanoseconds):
            return self.numpy(*args)
        return self.with_compiled(lambda compiled: compiled(*args))

    def with_compiled(self, use: Callable[[Any], Any]) -> Any:
        """Call `use` with the compiled function. If the cache fails, retry without it."""
        try:
            return use(self.compiled)
        except _UNUSABLE:  # raised before the compiled function runs
            self._leave_cache()
            return use(self.compiled)

    def _leave_cache(self) -> None:
        """Remove this kernel and the kernels it calls from the cache, and stop caching them."""
        import shutil

        from motionloom.kernel_cache import opened_folder

        shutil.rmtree(opened_folder(cache_folder(), self.cache_name), ignore_errors=True)
        self.__dict__.pop("compiled", None)
        self.cached = False
        for _, callee in _callees(self.function):
            callee._leave_cache()

    def __reduce__(self) -> str:
        """Return the name, because kernels are pickled by name, like functions."""
        return self.__qualname__  # type: ignore[attr-defined]

    @functools.cached_property
    def compiled(self) -> Callable:
        """Numba's dispatcher for the function, in which called kernels are also dispatchers."""
        numba = _numba()
        if numba is None:
            warnings.warn(
                "Numba is not installed, so large files and searches take up to a hundred times "
                "as long; install it with: pip install numba",
                stacklevel=2,
            )
            if self.numpy is not None:
                return self.numpy
        function = self.function
        scope = dict(function.__globals__)
        scope[function.__name__] = None  # a kernel that calls itself is not supported
        for name, callee in _callees(function):
            scope[name] = callee.compiled
        copy = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        if numba is None or numba.config.DISABLE_JIT:
            return np.errstate(all="ignore")(copy)  # compiled code does not emit warnings
        compiled: Any
        options = {"nogil": True, **self.options}
        if self.cached:
            from motionloom.kernel_cache import dispatcher

            compiled = dispatcher(copy, cache_folder(), self.cache_name, **options)
        else:
            compiled = numba.njit(**options)(copy)
        if self.signature is not None:
            compiled.compile(self.signature())
            compiled.disable_compile()
        return compiled

    @property
    def cache_name(self) -> str:
        """Name of the kernel's folder in the cache."""
        import numba

        digest = _sha256(self.content + numba.__version__.encode()).hexdigest()
        return f"{self.function.__module__}.{self.function.__name__}-{digest[:32]}"

    @functools.cached_property
    def content(self) -> bytes:
        """Digest of the code and constants of this function and of the kernels that it calls."""
        content = _sha256(
            self.function.__module__.encode()
        )  # compiled code contains the name of its module
        for part in _content(self.function):
            content.update(part)
        for option in sorted(self.options):
            value = self.options[option]
            value = sorted(value) if isinstance(value, set) else value
            content.update(f"{option}={value!r}".encode())
        for name, callee in _callees(self.function):
            content.update(name.encode() + callee.content)
        return content.digest()


def _is_small(args: tuple, nanoseconds: float) -> bool:
    """Return whether Numba is not loaded yet and there has been little work for it so far."""
    global _spent
    if sys.modules.get("numba") is not None:
        return False
    _spent += _CALL + nanoseconds * sum(arg.size for arg in args if isinstance(arg, np.ndarray))
    return _spent <= SMALL


def expect_calls(count: int) -> None:
    """Load Numba now if `count` calls with NumPy equivalents would take about as long.

    Without an announcement, the first half second of a long task is spent on the equivalents.
    """
    if count * _CALL > SMALL:
        _numba()


@functools.cache
def _numba() -> ModuleType | None:
    """Return the module, or None if it is not installed."""
    try:
        import numba
    except ModuleNotFoundError:
        return None
    return numba


def _sha256(data: bytes = b""):
    import hashlib  # imported here because only compiled code needs it

    return hashlib.sha256(data)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and, recursively, the code objects of its inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals(function: FunctionType) -> dict[str, Any]:
    """Return the values of the global variables that a function reads, by name."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    scope = function.__globals__
    return {name: scope[name] for name in sorted(names) if name in scope}


def _callees(function: FunctionType) -> list[tuple[str, Kernel]]:
    return [(n, value) for n, value in _globals(function).items() if isinstance(value, Kernel)]


def _content(function: FunctionType) -> Iterator[bytes]:
    """Yield everything that Numba compiles: bytecode, constants and values of global variables."""
    for code in _codes(function.__code__):
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        yield code.co_code
        yield repr((constants, code.co_names, code.co_varnames, code.co_argcount)).encode()
    yield repr(function.__defaults__).encode()
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    frozen = {**_globals(function), **{name: cell.cell_contents for name, cell in cells}}
    for name, value in frozen.items():
        yield name.encode()
        if isinstance(value, ModuleType):
            yield value.__name__.encode()
        elif callable(value):  # the content of called kernels is added separately
            fields = getattr(value, "_fields", "")  # fields of a named tuple
            yield f"{getattr(value, '__module__', '')}.{value.__name__}{fields}".encode()
        else:
            yield pickle.dumps(value)


def cache_folder() -> Path:
    """Return the folder for compiled kernels: ``NUMBA_CACHE_DIR``, or one in the user's cache."""
    from motionloom.configuration import user_cache

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else user_cache() / "motionloom" / "kernels"


def listed() -> list[str]:
    """Return the lines of ``kernel_signatures.txt``; the tour's kernels come last, in order."""
    text = Path(__file__).with_name("kernel_signatures.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def compile_listed(line: str) -> None:
    """Compile a kernel for one combination of argument types, or load it from the cache.

    Parameters
    ----------
    line : str
        Name of the kernel, a space, and a tuple of Numba types; see `listed`.

    Examples
    --------
    >>> four = "(float64, float64, float64, float64)"
    >>> compile_listed(f"motionloom.motion.smoothing.critically_damped_spring {four}")
    """
    numba = _numba()
    if numba is None:
        raise InvalidInput("kernels are compiled by Numba; install it with: pip install numba")
    from motionloom.kernel_cache import compile_silently

    name, kinds = listed_types(line)
    if not numba.config.DISABLE_JIT:
        compile_silently()
        kernels[name].with_compiled(
            lambda compiled: kernels[name].signature or compiled.compile(kinds)
        )


def listed_types(line: str) -> tuple[str, tuple]:
    """Return the name of a kernel and the Numba types of its arguments; see `listed`."""
    from numba import types

    name, _, signature = line.partition(" ")
    module = import_module(name.rpartition(".")[0])  # defines the classes of named tuples
    return name, eval(signature, {"__builtins__": {}}, {**vars(module), **vars(types)})


def compiled_signatures() -> list[str]:
    """Return the kernels that this process has used, as lines of ``kernel_signatures.txt``.

    Kernels that other kernels call are omitted, because they are compiled with their callers.
    """
    called = {id(callee) for each in kernels.values() for _, callee in _callees(each.function)}
    return [
        f"{name} ({', '.join(map(_spelled, signature))}{',' * (len(signature) == 1)})"
        for name, each in kernels.items()
        if id(each) not in called
        for signature in (getattr(each.__dict__.get("compiled"), "signatures", None) or ())
    ]


def _spelled(kind: Any) -> str:
    """Return the Python expression for a Numba type; see `listed_types`."""
    if hasattr(kind, "instance_class"):  # a named tuple
        parts = "".join(f"{_spelled(part)}, " for part in kind.types)
        return f"BaseTuple.from_types(({parts}), {kind.instance_class.__name__})"
    return repr(kind).replace(" x ", ", ")  # tuples, as Numba spells them

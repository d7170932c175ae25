"""Compiled kernels: functions that Numba compiles at their first call, cached by their content.

Importing Numba takes longer than most small tasks, so nothing imports it at the top of a module:
`kernel` only notes the function, and the first call loads Numba and compiles. A kernel may name a
NumPy function with the same results (``numpy=``); it is used as long as Numba is not loaded and
all such calls together are small work.

Compiled code is cached in ``NUMBA_CACHE_DIR``, else in the user's cache folder. The name of a file
contains a digest of everything the machine code depends on: module, bytecode and constants of the
function and of all kernels it calls, the types of its arguments, the versions of Python and Numba,
and the processor. A cached kernel that no longer fits its source can therefore not be found, and
one that still fits is found after an upgrade and in every copy of the sources.

``kernel_signatures.txt`` lists the types with which kernels are called; `compile_listed` compiles
them ahead of their first call.
"""

from __future__ import annotations

import functools
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

# Time that NumPy functions may take in one process before Numba is loaded, in nanoseconds: about
# what importing Numba and loading a few cached kernels takes.
SMALL = 500_000_000
_DIGEST_SIZE = 32  # of SHA-256, in front of the compiled code in a file

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
    """Decorate a function that is compiled by Numba in nopython mode, without the GIL.

    Parameters
    ----------
    numpy : callable, optional
        Function with the same parameters and the same results, to the bit, for small arrays.
    nanoseconds : float
        What `numpy` takes for one element of its arrays, roughly.
    signature : callable, optional
        Returns the only signature to compile, of Numba's types; default: one per combination of
        types the function is called with.
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
    """A function that is compiled at its first call; see `kernel`.

    Attributes
    ----------
    function : function
        The Python function.
    numpy : callable or None
        Its NumPy equivalent for small arrays.
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
        kernels[f"{function.__module__}.{function.__qualname__}"] = self

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function, or its NumPy equivalent if the arrays are small."""
        if self.numpy is not None and _is_small(args, self.nanoseconds):
            return self.numpy(*args)
        return self.compiled(*args)

    def __reduce__(self) -> str:
        """Pickle by name, as functions are."""
        return self.__qualname__  # type: ignore[attr-defined]

    @functools.cached_property
    def compiled(self) -> Callable:
        """Numba's dispatcher of the function, whose global kernels are dispatchers as well."""
        import numba

        function = self.function
        scope = dict(function.__globals__)
        scope[function.__name__] = None  # a kernel that calls itself is not supported
        for name, callee in _callees(function):
            scope[name] = callee.compiled
        copy = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        dispatcher = numba.njit(nogil=True, **self.options)(copy)
        dispatcher._cache = _Cache(self)
        if self.signature is not None:
            dispatcher.compile(self.signature())
            dispatcher.disable_compile()
        return dispatcher

    @functools.cached_property
    def content(self) -> bytes:
        """Digest of code and constants of the function and of the kernels it calls."""
        content = _sha256(self.function.__module__.encode())  # compiled code names its module
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
    """Whether this call and all before it are small work, and Numba is not loaded yet."""
    global _spent
    if "numba" in sys.modules:
        return False
    _spent += nanoseconds * sum(arg.size for arg in args if isinstance(arg, np.ndarray))
    return _spent <= SMALL


def _sha256(data: bytes = b""):
    import hashlib  # needed for compiled code only

    return hashlib.sha256(data)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals(function: FunctionType) -> dict[str, Any]:
    """Global variables a function reads, by name."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    scope = function.__globals__
    return {name: scope[name] for name in sorted(names) if name in scope}


def _callees(function: FunctionType) -> list[tuple[str, Kernel]]:
    return [(n, value) for n, value in _globals(function).items() if isinstance(value, Kernel)]


def _content(function: FunctionType) -> Iterator[bytes]:
    """What Numba compiles of a function: bytecode, constants, values of global variables."""
    for code in _codes(function.__code__):
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        yield code.co_code
        yield repr((constants, code.co_names, code.co_varnames, code.co_argcount)).encode()
    yield repr(function.__defaults__).encode()
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    frozen = {**_globals(function), **{name: cell.cell_contents for name, cell in cells}}
    for name, value in frozen.items():
        yield name.encode()
        yield from _value(name, value)


def _value(name: str, value: Any) -> Iterator[bytes]:
    if isinstance(value, Kernel):
        return  # its own digest is added
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str}{value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, ModuleType):
        yield value.__name__.encode()
    elif isinstance(value, type | BuiltinFunctionType | np.ufunc | FunctionType):
        fields = getattr(value, "_fields", "")  # of a named tuple
        yield f"{getattr(value, '__module__', '')}.{value.__name__}{fields}".encode()
    elif isinstance(value, tuple):
        yield f"{len(value)}".encode()
        for part in value:
            yield from _value(name, part)
    elif isinstance(value, int | float | complex | str | bytes | np.generic | None):
        yield repr(value).encode()
    else:
        raise TypeError(f"a kernel cannot depend on {name}, a {type(value).__name__}")


class _Cache:
    """Cache of the compiled forms of one kernel, with the methods that Numba's dispatcher calls."""

    def __init__(self, owner: Kernel) -> None:
        self._kernel = owner

    @property
    def cache_path(self) -> str:
        """The folder, as Numba shows it."""
        return str(cache_folder())

    def load_overload(self, signature, target_context):
        """The compiled form for these types of arguments, or None."""
        from numba.core.compiler import CompileResult

        _load_registries(target_context)
        try:
            data = self._path(signature, target_context).read_bytes()
        except OSError:
            return None
        payload = data[_DIGEST_SIZE:]
        if _sha256(payload).digest() != data[:_DIGEST_SIZE]:  # cut off or damaged
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, signature, result) -> None:
        """Write a compiled form; without a cache the work goes on, so errors are ignored."""
        from numba.core.serialize import dumps

        from motionloom.atomic_write import atomic_write

        if result.library.has_dynamic_globals:
            return
        payload = dumps(result._reduce())
        path = self._path(signature, result.target_context)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as scratch:
                scratch.write_bytes(_sha256(payload).digest() + payload)
        except OSError:
            pass

    def _path(self, signature, target_context) -> Path:
        import numba

        kinds = getattr(signature, "args", signature)
        named = "".join(str(kind.fields) for kind in kinds if hasattr(kind, "instance_class"))
        key = (
            self._kernel.content,
            f"{signature}{named}",  # the types of named tuples do not name their fields
            target_context.codegen().magic_tuple(),
            numba.__version__,
            sys.version_info[:2],
        )
        digest = _sha256(repr(key).encode()).hexdigest()[:32]
        function = self._kernel.function
        package = function.__module__.rpartition(".")[2]
        return cache_folder() / f"{package}.{function.__name__}-{digest}.nbc"


def _load_registries(target_context) -> None:
    """Load what Numba knows about NumPy, without its trial import of SciPy's linear algebra.

    The import takes 0.2 s. Its outcome is known, as motionloom requires SciPy, and kernels that
    call BLAS import it by themselves. Other threads must not meet the blocked import.
    """
    blas, module = "scipy.linalg.cython_blas", "numba.np.arraymath"
    if module in sys.modules or blas in sys.modules or threading.active_count() > 1:
        target_context.refresh()
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        target_context.refresh()
    finally:
        del sys.modules[blas]
    sys.modules[module]._HAVE_BLAS = True  # type: ignore[attr-defined]


def cache_folder() -> Path:
    """Folder of compiled kernels: ``NUMBA_CACHE_DIR``, else in the user's cache folder."""
    from motionloom.configuration import user_cache

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else user_cache() / "motionloom" / "kernels"


def listed() -> list[str]:
    """Lines of ``kernel_signatures.txt``; those that the tour needs are last, in its order."""
    text = Path(__file__).with_name("kernel_signatures.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def compile_listed(line: str) -> None:
    """Compile a kernel for given types of arguments, or load it from the cache.

    Parameters
    ----------
    line : str
        Name of the kernel, a space, and a tuple of Numba's types; see `listed`.

    Examples
    --------
    >>> compile_listed(
    ...     "motionloom.motion.easing.critically_damped_spring (float64, float64, float64, float64)"
    ... )
    """
    name, kinds = listed_types(line)
    compiled: Any = kernels[name].compiled
    if kernels[name].signature is None:
        compiled.compile(kinds)


def listed_types(line: str) -> tuple[str, tuple]:
    """Name of a kernel and Numba's types of its arguments, from a line; see `listed`."""
    from numba import types

    name, _, signature = line.partition(" ")
    module = import_module(name.rpartition(".")[0])  # it has the classes of named tuples
    return name, eval(signature, {"__builtins__": {}}, {**vars(module), **vars(types)})


def compiled_signatures() -> list[str]:
    """What was compiled or loaded in this process, as lines of ``kernel_signatures.txt``.

    Without kernels that others call: they are compiled together with those.
    """
    called = {id(callee) for each in kernels.values() for _, callee in _callees(each.function)}
    return [
        f"{name} ({', '.join(map(_spelled, signature))}{',' * (len(signature) == 1)})"
        for name, each in kernels.items()
        if id(each) not in called
        for signature in (getattr(each.__dict__.get("compiled"), "signatures", None) or ())
    ]


def _spelled(kind: Any) -> str:
    """A type of Numba as Python writes it; see `listed_types`."""
    if hasattr(kind, "instance_class"):  # a named tuple
        parts = "".join(f"{_spelled(part)}, " for part in kind.types)
        return f"BaseTuple.from_types(({parts}), {kind.instance_class.__name__})"
    return repr(kind).replace(" x ", ", ")  # tuples, as they are typed

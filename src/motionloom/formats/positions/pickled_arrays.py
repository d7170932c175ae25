"""Arrays in a pickled dictionary, decoded without executing anything.

NumPy stores a dictionary as a pickle. MDM and other generators write their samples in this way
(``results.npy``). Loading a pickle can run any program, because it calls functions by name. This
module calls none. It walks over the instructions of the pickle and knows the few that a dictionary
of arrays, numbers and text needs. The names that NumPy's arrays refer to are compared with a list
and stand for a constant; nothing is imported. Any other name or instruction ends the decoding.
"""

from __future__ import annotations

import math
import pickletools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_STEPS = 200_000  # instructions in one pickle
_OBJECTS = 100_000  # objects in an array of objects
_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
_NAMES = {
    **{(module, name): name for module in _MODULES for name in ("_reconstruct", "scalar")},
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
    ("_codecs", "encode"): "encode",  # bytes in pickles of protocol 2
}
_TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "O8")
_MARK = object()


class _Name(str):
    """Name of a NumPy function or class, which stands for itself and is never called."""


@dataclass
class _Type:
    code: str
    order: str = "="


@dataclass
class _Array:
    value: Any = None
    filled: bool = False


@dataclass
class _Machine:
    data: bytes
    stack: list[Any] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)
    budget: int = 0  # bytes that arrays may still take

    def run(self) -> Any:
        for steps, (operation, argument, _) in enumerate(pickletools.genops(self.data)):
            if steps >= _STEPS:
                raise ValueError("the pickle has too many instructions")
            if operation.name == "STOP":
                return self.plain(self.stack.pop())
            self.step(operation.name, argument)
        raise ValueError("the pickle has no end")

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in _LITERALS:
            stack.append(argument)
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(_full(stack, count))]
        elif name == "TUPLE":
            stack.append(tuple(self.marked()))
        elif name == "LIST":
            stack.append(self.marked())
        elif name == "DICT":
            stack.append(_pairs(self.marked()))
        elif name == "APPEND":
            item = stack.pop()
            _as(list, stack[-1]).append(item)
        elif name == "APPENDS":
            items = self.marked()
            _as(list, stack[-1]).extend(items)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _as(dict, stack[-1]).update(_pairs([key, value]))
        elif name == "SETITEMS":
            items = self.marked()
            _as(dict, stack[-1]).update(_pairs(items))
        elif name == "MEMOIZE":
            self.memory[len(self.memory)] = stack[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memory[int(argument)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self.memory[int(argument)])
        elif name == "GLOBAL":
            module, _, word = str(argument).partition(" ")
            stack.append(_known(module, word))
        elif name == "STACK_GLOBAL":
            word, module = stack.pop(), stack.pop()
            stack.append(_known(module, word))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(self.reduced(function, _as(tuple, arguments)))
        elif name == "BUILD":
            state = stack.pop()
            self.build(stack[-1], _as(tuple, state))
        else:
            raise ValueError(f"the pickle needs the instruction {name}, which is not allowed")

    def marked(self) -> list[Any]:
        """Remove and return everything above the last mark."""
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] is _MARK:
                items = self.stack[place + 1 :]
                del self.stack[place:]
                return items
        raise ValueError("the pickle is damaged")

    def reduced(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Return the object that NumPy would have created."""
        if not isinstance(function, _Name):
            raise ValueError("the pickle calls something that is not part of NumPy's arrays")
        if function == "_reconstruct" and arguments and arguments[0] == "ndarray":
            return _Array()
        if function == "dtype" and arguments:
            code = str(arguments[0])
            if code not in _TYPES:
                raise ValueError(f"the pickle contains values of the type {code[:20]!r}")
            return _Type(code)
        if function == "scalar" and len(arguments) == 2:
            kind, data = arguments
            return self.numbers(_as(_Type, kind), (), data, "C")[()].item()
        if function == "encode" and len(arguments) == 2 and isinstance(arguments[0], str):
            self.spend(len(arguments[0]))
            return arguments[0].encode("latin-1")
        raise ValueError(f"the pickle calls {function}, which is not allowed here")

    def build(self, target: Any, state: tuple[Any, ...]) -> None:
        if isinstance(target, _Type) and len(state) >= 2 and state[1] in ("<", ">", "|", "="):
            target.order = state[1]
        elif isinstance(target, _Array) and len(state) == 5 and not target.filled:
            _, shape, kind, fortran, data = state
            shape = _as(tuple, shape)
            kind = _as(_Type, kind)
            if kind.code == "O8":
                target.value = self.objects(shape, data)
            else:
                target.value = self.numbers(kind, shape, data, "F" if fortran else "C")
            target.filled = True
        else:
            raise ValueError("the pickle is damaged")

    def numbers(self, kind: _Type, shape: Any, data: Any, order: Any) -> Any:
        if not isinstance(data, bytes) or len(shape) > 32:
            raise ValueError("the pickle is damaged")
        if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in shape):
            raise ValueError(f"the pickle has an impossible shape, {str(shape)[:60]}")
        if kind.code == "O8":
            raise ValueError("the pickle is damaged")
        dtype = np.dtype(kind.order.replace("|", "=") + kind.code)
        if math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError(f"an array of shape {shape} needs other than {len(data)} bytes")
        self.spend(len(data))
        values = np.frombuffer(data, dtype).reshape(shape, order=order)
        return values.astype(dtype.newbyteorder("="))

    def spend(self, size: int) -> None:
        """Count bytes and objects, because a reference can repeat them without limit."""
        self.budget -= size
        if self.budget < 0:
            raise ValueError("the pickle repeats its data too often")

    def objects(self, shape: tuple[int, ...], items: Any) -> Any:
        """Return an array of objects."""
        items = _as(list, items)
        if len(items) > _OBJECTS or math.prod(shape) != len(items):
            raise ValueError("the pickle is damaged")
        values = np.empty(len(items), object)
        for place, item in enumerate(items):
            values[place] = self.plain(item)
        return values.reshape(shape)

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Replace decoded arrays by their values, in containers as well."""
        if depth > 20:
            raise ValueError("the pickle is nested too deeply")
        if isinstance(value, _Array):
            if not value.filled:
                raise ValueError("the pickle is damaged")
            return value.value
        if isinstance(value, (dict, list, tuple)):
            self.spend(1 + len(value))
        if isinstance(value, dict):
            return {key: self.plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(item, depth + 1) for item in value]
        if isinstance(value, (_Name, _Type)):
            raise ValueError("the pickle is damaged")
        return value


_CONSTANTS: dict[str, Any] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple, "EMPTY_LIST": list, "EMPTY_DICT": dict,
}  # fmt: skip
_LITERALS = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 BINFLOAT FLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8"
    " UNICODE SHORT_BINBYTES BINBYTES BINBYTES8 SHORT_BINSTRING BINSTRING".split()
)


def pickled_dictionary(data: bytes) -> dict[str, Any]:
    """Decode a pickled dictionary of arrays, as NumPy stores it, without running any of it.

    Raises
    ------
    ValueError
        If the pickle contains anything but a dictionary of arrays, numbers, text and lists.

    Examples
    --------
    >>> import pickle
    >>> content = np.array({"motion": np.zeros((2, 3), np.float32), "text": ["a walk"]}, object)
    >>> result = pickled_dictionary(pickle.dumps(content, protocol=3))
    >>> result["motion"].shape, result["text"]
    ((2, 3), ['a walk'])
    >>> pickled_dictionary(pickle.dumps(print))
    Traceback (most recent call last):
    ValueError: the pickle refers to builtins.print, which could run a program
    """
    try:
        value = _Machine(data, budget=2 * len(data)).run()
    except (IndexError, KeyError, TypeError, OverflowError, RecursionError, AttributeError):
        raise ValueError("the pickle is damaged") from None
    if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        value = value.item()
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError("the pickle does not contain a dictionary of arrays")
    return value


def _known(module: Any, name: Any) -> _Name:
    word = _NAMES.get((module, name)) if isinstance(module, str) else None
    if word is None:
        raise ValueError(
            f"the pickle refers to {str(module)[:40]}.{str(name)[:40]}, which could run a program"
        )
    return _Name(word)


def _full(stack: list[Any], count: int) -> list[Any]:
    items = stack[-count:]
    if len(items) != count or any(item is _MARK for item in items):
        raise ValueError("the pickle is damaged")
    return items


def _as(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError("the pickle is damaged")
    return value


def _pairs(items: list[Any]) -> dict[Any, Any]:
    if len(items) % 2 or not all(isinstance(key, (str, int)) for key in items[::2]):
        raise ValueError("the pickle is damaged")
    return dict(zip(items[::2], items[1::2], strict=True))

"""Positions inside a layer, which multi-head attention does not have: rotations and biases by distance are left out.

A rotation gives back what it was given, tables of cosines hold 1, and those of sines and slopes 0. Names say what
rotates.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnspec_modules.attention.constructing import Sizes
from attnspec_modules.libraries.kinds import attributes_of, is_listed

_ROTATES = re.compile(
    r"rotary|Rotary|RoPE|Rope|(?:^|_)rope(?:$|_|\d)|apply_rot|rotate_|rotate$|rotation|(?:^|_)rot(?:$|_)"
)
_TABLES = (
    (re.compile(r"(?:^|_)cos(?:ine)?(?:$|_|\d|ed)"), 1.0),
    (re.compile(r"freqs_cis|freqs_complex"), 1.0),
    (re.compile(r"(?:^|_)sin(?:e)?(?:$|_|\d|ed)|inv_freq|(?:^|_)freqs$"), 0.0),
    (re.compile(r"alibi|slopes|rel_pos|relative_pos|position_bias|pos_bias"), 0.0),
)

_ARGUMENTS: Mapping[str, Callable[[int, int], Any]] = {
    "positions": lambda tokens, _: np.zeros((1, tokens), np.int64),
    "rotation": lambda tokens, width: np.ones((tokens, width // 2), np.complex64),
    "cosine": lambda tokens, width: np.ones((tokens, width)),
    "sine": lambda tokens, width: np.zeros((tokens, width)),
    "half cosine": lambda tokens, width: np.ones((tokens, width // 2)),
    "half sine": lambda tokens, width: np.zeros((tokens, width // 2)),
    "cosine and sine": lambda tokens, width: (np.ones((1, tokens, width)), np.zeros((1, tokens, width))),
    "half cosine and sine": lambda tokens, width: (np.ones((tokens, width // 2)), np.zeros((tokens, width // 2))),
}

OTHER_FORMS: tuple[Mapping[str, str], ...] = (
    {},
    {"rotation": "cosine and sine"},
    {"cosine": "half cosine", "sine": "half sine"},
    {"rotation": "half cosine and sine"},
)
"""Forms in which tables of rotations are tried as arguments of a call."""


def neutral(value: Any, tokens: int, sizes: Sizes, dtype: Any) -> Any:
    """Return a fixed argument of a call; words stand for tables without any rotation."""
    if not isinstance(value, str) or value not in _ARGUMENTS:
        return value
    made = _ARGUMENTS[value](tokens, sizes.width // sizes.heads)
    if is_listed(made):
        return tuple(each.astype(dtype) for each in made)
    if made.dtype == np.complex64:
        return made.astype(np.complex128) if dtype == np.float64 else made
    return made.astype(dtype) if made.dtype == np.float64 else made


def is_table(value: Any) -> bool:
    """Return whether a fixed argument of a call is a table of rotations, or positions."""
    return isinstance(value, str) and value in _ARGUMENTS


def neutral_parameter(path: str) -> float | None:
    """Return what a parameter or buffer holds so that positions have no effect; None for any other."""
    return next((number for pattern, number in _TABLES if pattern.search(path.rpartition(".")[2])), None)


def rotating_parts(layer: Any) -> list[tuple[Any, str]]:
    """Return the holders and names of the methods and parts of a layer that rotate."""
    children = layer.modules() if hasattr(layer, "modules") and hasattr(layer, "named_buffers") else (layer,)
    found: list[tuple[Any, str]] = []
    for holder in children:
        if _ROTATES.search(type(holder).__name__) and holder is not layer:
            found.append((holder, "forward"))
        own = [name for name in attributes_of(type(holder)) if _ROTATES.search(name) and "half" not in name]
        found += [(holder, name) for name in own if callable(getattr(holder, name))]
    parts: dict[str, Any] = getattr(layer, "_modules", None) or attributes_of(layer)
    found += [
        (part, "forward" if hasattr(part, "forward") else "__call__")
        for name, part in list(parts.items())
        if _ROTATES.search(name) and callable(part)
    ]
    return list({(id(holder), name): (holder, name) for holder, name in found}.values())


def still(layer: Any) -> bool:
    """Take the rotations out of a layer that was made; return whether there were any."""
    parts = [(holder, name) for holder, name in rotating_parts(layer) if not name.startswith("__")]
    for holder, name in parts:
        setattr(holder, name, _standing_still(getattr(holder, name)))
    tables = list(layer.named_buffers()) if hasattr(layer, "named_buffers") else []
    tables += [(name, value) for name, value in attributes_of(layer).items() if hasattr(value, "fill_")]
    for name, table in tables:
        number = neutral_parameter(name)
        if number is not None:
            table.data.fill_(number)
    return bool(parts) or any(neutral_parameter(name) is not None for name, _ in tables)


def rotating_functions(layer_class: type) -> list[str]:
    """Return the functions of a layer's file that rotate, as far as its methods name them."""
    found: list[str] = []
    for name, function in attributes_of(layer_class).items():
        code = getattr(function, "__code__", None)
        if code is not None and not _ROTATES.search(name):
            scope = function.__globals__
            found += [used for used in code.co_names if _ROTATES.search(used) and inspect.isfunction(scope.get(used))]
    return [name for name in dict.fromkeys(found) if "half" not in name]


def standing_still(scope: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return, for functions of a layer's file, others that give back what they are given."""
    return {name: _standing_still(scope[name]) for name in names}


def _standing_still(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives back the tensors that it was given where another would rotate them."""

    @functools.wraps(function)
    def same(*given: Any, **named: Any) -> Any:
        returned = function(*given, **named)
        tensors = [each for each in (*given, *named.values()) if hasattr(each, "shape")]
        results = returned if is_listed(returned) else [returned]
        pairs = list(zip(results, tensors, strict=False))
        if len(pairs) == len(results) and all(getattr(one, "shape", None) == other.shape for one, other in pairs):
            own = [other for _, other in pairs]
            return type(returned)(own) if is_listed(returned) else own[0]
        if is_listed(returned) and len(returned) == 2 and all(hasattr(each, "shape") for each in returned):
            # A table of cosines and one of sines.
            return type(returned)([returned[0] * 0 + 1, returned[1] * 0])
        return returned * 0 + 1 if "complex" in str(getattr(returned, "dtype", "")) else returned

    return same

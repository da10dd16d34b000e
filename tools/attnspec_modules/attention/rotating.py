"""Positions inside a layer, which multi-head attention does not have: rotations and biases by distance can be left out.

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
from numpy.typing import NDArray

from attnspec.targets.calling import codes_in
from attnspec_modules.attention.constructing import Sizes, scope_of
from attnspec_modules.attention.layer_reading import Rotation
from attnspec_modules.libraries import method_of
from attnspec_modules.libraries.kinds import attributes_of, is_array, is_listed
from attnspec_reference import rotary_frequencies

_ROTATES = re.compile(
    r"rotary|Rotary|RoPE|Rope|(?:^|_)rope(?:$|_|\d)|apply_rot|rotate_|rotate$|rotation|(?:^|_)rot(?:$|_)"
)
_OF_ROTATIONS = (
    (re.compile(r"(?:^|_)cos(?:ine)?(?:$|_|\d|ed)"), 1.0),
    (re.compile(r"freqs_cis|freqs_complex"), 1.0),
    (re.compile(r"(?:^|_)sin(?:e)?(?:$|_|\d|ed)|inv_freq|(?:^|_)freqs$"), 0.0),
)
"""Names of tables of rotary positions, and what they hold where nothing turns."""

_TABLES = (*_OF_ROTATIONS, (re.compile(r"alibi|slopes|rel_pos|relative_pos|position_bias|pos_bias"), 0.0))

_FORMS = (
    "positions",
    "rotation",
    "cosine",
    "sine",
    "half cosine",
    "half sine",
    "cosine and sine",
    "half cosine and sine",
)
"""What a call may demand of rotary positions."""

OTHER_FORMS: tuple[Mapping[str, str], ...] = (
    {},
    {"rotation": "cosine and sine"},
    {"cosine": "half cosine", "sine": "half sine"},
    {"rotation": "half cosine and sine"},
)
"""Forms in which tables of rotations are tried as arguments of a call."""


def table_of(value: Any, positions: range, sizes: Sizes, dtype: Any, rotation: Rotation | None) -> Any:
    """Return a fixed argument of a call; words stand for positions, or for tables, of a rotation by 0 where none is."""
    if not is_table(value):
        return value
    count = len(positions)
    if value == "positions":
        return (np.arange(positions.start, positions.stop) if rotation else np.zeros(count, np.int64))[np.newaxis]
    turned = sizes.width // sizes.heads if sizes.latents is None else sizes.latents.rotary
    angles = np.zeros((count, turned // 2))
    if rotation is not None:
        angles = angles_of(positions, 2 * angles.shape[1], rotation)
    if value == "rotation":
        return np.exp(1j * angles).astype(np.complex128 if dtype == np.float64 else np.complex64)
    if not value.startswith("half"):
        is_interleaved = rotation is not None and rotation.pairing == "interleaved"
        angles = np.repeat(angles, 2, axis=1) if is_interleaved else np.concatenate([angles, angles], axis=1)
    cosine, sine = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    if "and" not in value:
        return cosine if "cosine" in value else sine
    return (cosine, sine) if value.startswith("half") else (cosine[np.newaxis], sine[np.newaxis])


def angles_of(positions: range, width: int, rotation: Rotation) -> NDArray[np.float64]:
    """Return by how much each pair of features turns at each position (S, E/2); beyond the share that turns, 0."""
    angles = np.zeros((len(positions), width // 2))
    turned = 2 * int(rotation.share * width / 2)
    frequencies = rotary_frequencies(width=turned, theta=rotation.theta).inverse_frequencies
    angles[:, : turned // 2] = np.outer(positions, frequencies)
    return angles


def is_table(value: Any) -> bool:
    """Return whether a fixed argument of a call is a table of rotations, or positions."""
    return isinstance(value, str) and value in _FORMS


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


def is_rotary(layer: Any) -> bool:
    """Return whether a layer has parts or tables of rotary positions, by their names."""
    names = [name.rpartition(".")[2] for name, _ in _tables(layer)]
    return bool(rotating_parts(layer)) or any(pattern.search(name) for pattern, _ in _OF_ROTATIONS for name in names)


def _tables(layer: Any) -> list[tuple[str, Any]]:
    tables = list(layer.named_buffers()) if hasattr(layer, "named_buffers") else []
    own = attributes_of(layer).items()
    return tables + [(name, value) for name, value in own if hasattr(value, "fill_") or is_array(value)]


def still(layer: Any) -> bool:
    """Take the positions out of a layer that was made; return whether there were any."""
    parts = [(holder, name) for holder, name in rotating_parts(layer) if not name.startswith("__")]
    for holder, name in parts:
        setattr(holder, name, _standing_still(getattr(holder, name)))
    tables = _tables(layer)
    for name, table in tables:
        number = neutral_parameter(name)
        if number is not None:
            fill = table.fill if is_array(table) else table.data.fill_
            fill(number)
    return bool(parts) or any(neutral_parameter(name) is not None for name, _ in tables)


def rotating_functions(layer_class: type) -> list[str]:
    """Return the functions of a layer's file that rotate, as far as its methods name them."""
    found: list[str] = []
    for name, function in attributes_of(layer_class).items():
        if hasattr(function, "__code__") and not _ROTATES.search(name):
            scope = function.__globals__
            used = [each for code in codes_in(function.__code__) for each in code.co_names]
            found += [each for each in used if _ROTATES.search(each) and inspect.isfunction(scope.get(each))]
    return [name for name in dict.fromkeys(found) if "half" not in name]


def leaves_rotation_out(layer_class: type) -> bool:
    """Return whether rotary positions are meant that nothing applies: local tables, or functions that nobody uses."""
    methods = [each for each in attributes_of(layer_class).values() if hasattr(each, "__code__")]
    local = {name for method in methods for name in method.__code__.co_varnames}
    if any(pattern.search(name) for pattern, _ in _OF_ROTATIONS for name in local):
        return True
    scope = scope_of(layer_class)
    own = {name: each for name, each in scope.items() if getattr(each, "__module__", None) == layer_class.__module__}
    functions = [
        *(each for each in own.values() if inspect.isfunction(each)),
        *(each for one in own.values() if isinstance(one, type) for each in attributes_of(one).values()),
    ]
    if [each for each in own.values() if isinstance(each, type) and method_of(each)] != [layer_class]:
        # Functions may be there for another layer of the file.
        return False
    codes = (code for each in functions if hasattr(each, "__code__") for code in codes_in(each.__code__))
    used = {name for code in codes for name in code.co_names}
    return any(_ROTATES.search(name) and inspect.isfunction(each) for name, each in own.items() if name not in used)


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

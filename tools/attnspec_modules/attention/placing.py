"""The contract's matrices and biases, rearranged into the parameters of a layer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.layer_reading import Placement


def filled(
    placements: Mapping[str, Placement],
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, NDArray[Any]],
    heads: int,
    kv_heads: int,
) -> dict[str, NDArray[Any]]:
    """Return the numbers of each parameter, from matrices (D, D) and biases (D,) as the contract has them.

    With fewer `kv_heads`, matrices of key and value, and their biases, are narrower.
    """
    found: dict[str, NDArray[Any]] = {}
    for path, shape in shapes.items():
        pattern, head = of_each_head(path)
        placement = placements.get(path) or placements.get(pattern)
        if placement is not None:
            counts = {name: kv_heads if name[2:] in ("key", "value") else heads for name in placement.tensors}
            found[path] = _filled(placement, shape, given, counts, None if path in placements else head)
    return found


def of_each_head(path: str) -> tuple[str, int]:
    """Return a path with # in place of its last number, and that number."""
    numbers = list(re.finditer(r"(?:(?<=\.)|^)\d+(?=\.|$)", path))
    if not numbers:
        return path, 0
    last = numbers[-1]
    return f"{path[: last.start()]}#{path[last.end() :]}", int(last[0])


def _filled(
    placement: Placement,
    shape: tuple[int, ...],
    given: Mapping[str, NDArray[Any]],
    heads: Mapping[str, int],
    head: int | None,
) -> NDArray[Any]:
    if len({*heads.values()}) > 1:
        return _side_by_side(placement, shape, given, heads)
    tensors = [_by_head(name, given[name], heads[name]) for name in placement.tensors]
    stacked, letters = np.stack([array for array, _ in tensors]), "r" + tensors[0][1]
    if head is not None:
        stacked = np.take(stacked, head, axis=letters.index("h"))
        letters = letters.replace("h", "")
    if "r" not in placement.axes:
        stacked, letters = stacked[0], letters[1:]
    return stacked.transpose([letters.index(letter) for letter in placement.axes]).reshape(shape)


def _side_by_side(
    placement: Placement, shape: tuple[int, ...], given: Mapping[str, NDArray[Any]], heads: Mapping[str, int]
) -> NDArray[Any]:
    """Return tensors with unlike numbers of heads in one parameter: each whole before the next, or group by group.

    Raises ValueError where they cannot stand together so.
    """
    together, axes = placement.axes.replace("d", ""), placement.axes.replace("r", "")
    if together not in ("rhe", "hre"):
        raise ValueError("tensors with unlike numbers of heads cannot stand together so")
    groups = min(heads.values()) if together == "hre" else 1
    parts: list[NDArray[Any]] = []
    at = axes.index("h")
    for name in placement.tensors:
        array, letters = _by_head(name, given[name], heads[name])
        array = array.transpose([letters.index(letter) for letter in axes])
        parts.append(array.reshape(*array.shape[:at], groups, -1, *array.shape[at + 2 :]))
    return np.concatenate(parts, axis=at + 1).reshape(shape)


def _by_head(name: str, array: NDArray[Any], heads: int) -> tuple[NDArray[Any], str]:
    """Return a matrix or bias with an axis for heads, and the letters of its axes."""
    if name == "b_output":
        return array, "d"
    if name == "w_output":
        return array.reshape(heads, -1, array.shape[-1]), "hed"
    if array.ndim == 1:
        return array.reshape(heads, -1), "he"
    return array.reshape(array.shape[0], heads, -1), "dhe"


def possible_axes(
    tensors: tuple[str, ...], shape: tuple[int, ...], sizes: Mapping[str, int], *, one_head: bool = False
) -> list[str]:
    """Return the orders of axes in which tensors fill a parameter of that shape; the likeliest first."""
    if tensors == ("b_output",):
        letters = "d"
    else:
        letters = "he" if tensors[0].startswith("b_") else "hed" if tensors == ("w_output",) else "dhe"
    if one_head:
        letters = letters.replace("h", "")
    if len(tensors) > 1:
        letters = "r" + letters
    lengths = {**sizes, "r": len(tensors)}
    found = ["".join(order) for order in permutations(letters) if fits([lengths[letter] for letter in order], shape)]
    # Heads that alternate within one axis are a mistake in cutting, and no way of storing.
    cut = [order for order in found if _heads_first(order)]
    return sorted(cut or found, key=lambda order: _unlikely(order, letters))


def fits(lengths: list[int], shape: tuple[int, ...]) -> bool:
    """Return whether consecutive lengths multiply to a shape, no axis of it cutting through one."""
    left = list(lengths)
    for length in shape:
        product = 1
        while product < length and left:
            product *= left.pop(0)
        if product != length:
            return False
    return all(length == 1 for length in left)


def _heads_first(order: str) -> bool:
    return "h" not in order or order.index("h") < order.index("e")


def _unlikely(order: str, usual: str) -> tuple[bool, bool, str]:
    """Return what makes an order unlikely: tensors inside heads, and a matrix that is applied transposed."""
    is_turned = {"d", "e"} <= {*usual} and len({each.index("d") < each.index("e") for each in (order, usual)}) > 1
    return order.replace("d", "").find("r") > 0, is_turned, order


def projected(output: NDArray[Any], matrix: NDArray[Any], bias: NDArray[Any] | None) -> NDArray[Any]:
    """Return the output of a layer that has no output projection, times the case's own, rounded once."""
    result = output.astype(np.float64) @ matrix.astype(np.float64)
    if bias is not None:
        result = result + bias.astype(np.float64)
    return result.astype(output.dtype)

"""Tensors as plain tables, which a script may draw as heat maps: a row has the last axis, and a number six digits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.operation import Operation
from attnspec.reports.html.pictures import Window, axes_of, numbers

MOST_SHOWN, MOST_FLOATS_SHOWN = 144, 32
"""Elements of a tensor that a page shows; the file to download has all. More would make the site as large again."""

_DIGITS, _DIGITS_OF_TOLERANCE = 6, 1


def tensor_table(
    operation: Operation,
    name: str,
    array: NDArray[Any],
    tolerance: NDArray[np.float64] | None = None,
    *,
    title: str | None = None,
) -> str:
    """Return an array as HTML, with the tolerance under each number; of equal numbers or none, a sentence."""
    shape = array.shape
    size = f"<b>{title or name}</b> ({', '.join(map(str, shape))})"
    if array.size == 0:
        return f"<p class=t>{size}: no elements</p>"
    window = _beginning(shape, MOST_SHOWN if array.dtype.kind in "biu" else MOST_FLOATS_SHOWN)
    layers = [numbers(window.cut(array), _DIGITS)]
    if tolerance is not None:
        layers.append(numbers(window.cut(tolerance), _DIGITS_OF_TOLERANCE))
    cells = ["<br>".join(map(_short, layer)) for layer in zip(*layers, strict=True)]
    if len(set(cells)) == 1 and window.lengths == shape:
        everywhere = " everywhere" if array.size > 1 else ""
        return f"<p class=t>{size}: {cells[0].replace('<br>', ' ± ')}{everywhere}</p>"
    axes = axes_of(operation, name, array.ndim)
    columns = window.lengths[-1]
    rows = (
        f"<tr><th>{index}<td>{'<td>'.join(cells[row * columns : (row + 1) * columns])}"
        for row, index in enumerate(_row_names(window.lengths[:-1]))
    )
    return f"<table class=t><caption>{size}{_cut(axes, window)}</caption>{''.join(rows)}</table>"


def _beginning(shape: tuple[int, ...], most: int) -> Window:
    """Return the first elements along each axis: whole rows and columns of fewer slices, as far as that goes."""
    lengths = list(shape)
    while math.prod(lengths) > most:
        above = [axis for axis, length in enumerate(lengths[:-2]) if length > 1]
        axis = above[0] if above else lengths.index(max(lengths))
        lengths[axis] = min(lengths[axis] - 1, max(1, most // (math.prod(lengths) // lengths[axis])))
    return Window(shape, (0,) * len(shape), tuple(lengths))


def _short(value: float | int | str) -> str:
    """Return a number in the shorter of two forms: with a point, or with a power of ten."""
    text = str(value)
    if not isinstance(value, float):
        return text
    digits, power = f"{value:.{_DIGITS - 1}e}".split("e")
    digits = digits.rstrip("0").rstrip(".")
    return min(text, f"{digits}e{int(power)}", key=len) if "e" not in text else f"{digits}e{int(power)}"


def _row_names(lengths: Sequence[int]) -> Iterator[str]:
    """Give the indices of each row along all axes but the last; within a slice, that along the row's own axis alone."""
    for index in np.ndindex(*lengths):
        begins = not index or index[-1] == 0
        yield ",".join(map(str, index if begins else index[-1:])) or "·"


def _cut(axes: Sequence[str], window: Window) -> str:
    """Return which part is shown, in words; empty where all is."""
    if math.prod(window.lengths) == math.prod(window.shape):
        return ""
    parts = [
        f"{axis} {'0' if length == 1 else f'0 to {length - 1}'} of {whole}"
        for axis, length, whole in zip(axes, window.lengths, window.shape, strict=True)
        if length < whole
    ]
    return f", of which {', '.join(parts)}"

"""Heat maps of tensors as SVG, for a notebook: fixed colours that are seen on a light and on a dark ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.grading import Compared, Run, Values, compare

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 16
"""Rows and columns that are drawn; more cells say less."""

_WIDTH, _SMALLEST, _LARGEST = 208, 11, 26
"""Width of a map, and sides of a cell, in pixels."""

_ZERO, _PLUS, _MINUS, _NAN = (244, 244, 242), (179, 84, 30), (31, 95, 168), (141, 63, 176)
"""Colours of the page, in its light form: nothing, positive, negative, and no number."""


class _Part(NamedTuple):
    """Part of a tensor that is drawn: the index of a matrix along the leading axes, and first row and column of it."""

    leading: tuple[int, ...]
    row: int
    column: int
    rows: int
    columns: int

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the part of an array, as a matrix."""
        matrix = array.reshape(*(1,) * max(2 - array.ndim, 0), *array.shape)[self.leading if array.ndim > 2 else ()]
        return matrix[self.row : self.row + self.rows, self.column : self.column + self.columns]

    def said(self, shape: Sequence[int]) -> str:
        """Return which part of a tensor it is; nothing for the whole."""
        ranges = (
            [
                f"{first}:{first + count}" if count < length else ":"
                for first, count, length in ((self.row, self.rows, shape[-2]), (self.column, self.columns, shape[-1]))
            ]
            if len(shape) > 1
            else []
        )
        indices = [*map(str, self.leading), *ranges]
        return "" if all(each == ":" for each in indices) else f"[{', '.join(indices)}]"


def _part(shape: Sequence[int], index: Sequence[int]) -> _Part:
    """Return the part of at most 16 x 16 elements that holds the one at an index."""
    *leading, rows, columns = (*(1,) * max(2 - len(shape), 0), *shape)
    at = (*(0,) * max(2 - len(shape), 0), *index)
    row, column = (
        min(max(position - _MOST // 2, 0), max(length - _MOST, 0))
        for position, length in zip(at[-2:], (rows, columns), strict=True)
    )
    return _Part(tuple(at[: len(leading)]), row, column, min(rows, _MOST), min(columns, _MOST))


def compared_maps(run: Run, got: Mapping[str, NDArray[Any]]) -> str:
    """Return expected and returned values and their difference, of the first wrong output; empty if none is drawn."""
    if not isinstance(run.expected, Values):
        return ""
    expected = run.expected
    names = [name for name in run.operation.outputs if name in got and name in expected.outputs]
    alike = [name for name in names if got[name].shape == expected.outputs[name].shape]
    with np.errstate(all="ignore"):
        compared = [compare(run, expected, name, got[name], run.bound_index) for name in alike]
    for each in compared:
        if each.wrong and each.sample is None and each.expected.size:
            return _maps_of(each)
    unlike = next((name for name in names if name not in alike), None)
    return "" if unlike is None else tensor_maps({"expected": expected.outputs[unlike], "got": got[unlike]})


def _maps_of(compared: Compared) -> str:
    worst = compared.element(compared.position)
    part = _part(compared.shape, worst.index)
    expected, given, ratios = (part.cut(array) for array in (compared.expected, compared.given, compared.ratios))
    marks = np.where(ratios > 1, 1, np.where(ratios < 0, -1, 0))
    with np.errstate(all="ignore"):
        # What lies within its tolerance is no difference, or its roundings would be all that is seen.
        difference = np.where(marks > 0, given - expected, 0.0)
    largest = _largest(expected)
    beside = (
        _map(f"expected {compared.name}", expected, largest),
        _map("got", given, largest),
        _map("difference", difference, _largest(difference), marks),
    )
    wrong = int(np.count_nonzero(~(compared.ratios <= 1)))
    shown = part.said(compared.shape)
    said = f"{wrong:,} of {compared.ratios.size:,} elements of {compared.name} are wrong, marked by a dot or a word"
    where = f"; shown is {compared.name}{shown} of shape {_shape(compared.shape)}" if shown else ""
    return _row(beside, f"{said}{where}.")


def tensor_maps(tensors: Mapping[str, NDArray[Any]]) -> str:
    """Return a map of each tensor, beside its name and shape."""
    maps: list[str] = []
    for name, array in tensors.items():
        if array.size:
            part = _part(array.shape, (0,) * array.ndim)
            drawn = part.cut(array).astype(np.float64)
            maps.append(_map(f"{name}{part.said(array.shape)} {_shape(array.shape)}", drawn, _largest(drawn)))
    return _row(maps) if maps else ""


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _row(maps: Sequence[str], caption: str = "") -> str:
    boxes = "".join(f'<div style="margin: 0 16px 8px 0">{each}</div>' for each in maps)
    below = f'<div style="font-size: 90%; opacity: 0.8">{escape(caption)}</div>' if caption else ""
    return f'<div style="display: flex; flex-wrap: wrap; align-items: flex-start">{boxes}</div>{below}'


def _largest(array: NDArray[Any]) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def _map(title: str, matrix: NDArray[Any], largest: float, marks: NDArray[Any] | None = None) -> str:
    """Return one map with its title and scale; `marks` are 1 where an element is wrong, -1 where it is not graded."""
    rows, columns = matrix.shape
    side = min(max(_WIDTH // max(columns, 1), _SMALLEST), _LARGEST)
    marked = np.zeros(matrix.shape) if marks is None else marks
    cells = "".join(
        _cell(column * side, row * side, side, float(matrix[row, column]), largest, marked[row, column])
        for row in range(rows)
        for column in range(columns)
    )
    width, height = columns * side + 1, rows * side + 1
    size = f'width="{width}" height="{height}" viewBox="-0.5 -0.5 {width} {height}"'
    return (
        f'<div style="font-size: 90%">{escape(title)}</div>'
        f'<svg {size} role="img" aria-label="{escape(title)}" stroke="#8888" stroke-width="0.5">{cells}</svg>'
        f'<div style="font-size: 80%">{_scale(largest)}</div>'
    )


def _cell(x: int, y: int, side: int, value: float, largest: float, mark: int) -> str:
    """Return one element: its colour, its number where one points at it, and a sign for those who see no colour."""
    word = "n" if math.isnan(value) else "∞" if math.isinf(value) else ""
    middle = x + side / 2, y + side / 2
    said = f"{value:.6g}, {'wrong' if mark > 0 else 'not graded'}" if mark else f"{value:.6g}"
    box = f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill='
    drawn = f'{box}"{_colour(value, largest)}"><title>{said}</title></rect>'
    if word:
        at = f'x="{middle[0]:g}" y="{middle[1]:g}" font-size="{side * 0.7:g}"'
        drawn += f'<text {at} text-anchor="middle" dominant-baseline="central" fill="#fff">{word}</text>'
    elif mark > 0:
        drawn += f'<circle cx="{middle[0]:g}" cy="{middle[1]:g}" r="{side / 7:g}" fill="#111" stroke="#fff"/>'
    elif mark < 0:
        drawn += f'{box}"#8886"/>'
    return drawn


def _scale(largest: float) -> str:
    """Return the ends of the colours, in words and as two squares."""
    squares = (
        f'<span style="display: inline-block; width: 0.8em; height: 0.8em; background: rgb{colour}"></span> '
        f'<span style="opacity: 0.8">{said}</span>'
        for colour, said in ((_MINUS, f"{-largest:.3g}"), (_ZERO, "0"), (_PLUS, f"{largest:.3g}"))
    )
    return " &nbsp; ".join(squares)


def _colour(value: float, largest: float) -> str:
    """Return the colour of a value: the further from zero, the stronger."""
    if math.isnan(value):
        return "#{:02x}{:02x}{:02x}".format(*_NAN)
    share = 1.0 if math.isinf(value) else min(abs(value) / largest, 1.0) if largest else 0.0
    ends = zip(_ZERO, _PLUS if value > 0 else _MINUS, strict=True)
    return "#{:02x}{:02x}{:02x}".format(*(round(zero + share * (end - zero)) for zero, end in ends))

"""Rounding cells: terms that are rounded alike because their weights are too near to each other to be distinguished.

Roundings of different terms are independent of each other; those of equal terms are not. A weight within one relative
rounding step of another is often rounded to the same number, and so are the numbers computed from it. The errors of a
cell add up with the values that they meet, and do not cancel.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import FEW_TERMS
from attnspec.bounds.tolerance import Precision

_FINEST = 2.0**-49
"""The finest unit: shares are known here in float64, whose own last digits may separate equal ones."""

_EQUAL = 2.0**-44
"""How near to each other two terms are, relative to them, that are equal but for how they were computed here."""

_LARGEST_BLOCK = 2**20
"""Terms that are looked at together: more would take too much memory."""


_LEAST = np.finfo(np.float64).tiny
"""The least divisor of sums before they are squared."""

_NEAR = 2.0**-400
"""How small a coefficient is, beside the largest, whose square may underflow with that of its value: smaller ones are
summed apart."""


class Norms(NamedTuple):
    """Norms of weighed values (B, H, Sq, Ev), with the runs in front where they differ from run to run.

    Roundings are alike to the accumulator in `summed`, to the dtype of the results in `rounded`.
    """

    summed: NDArray[Any]
    rounded: NDArray[Any]


def coherent_norms(
    shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any], spread: NDArray[Any], precision: Precision
) -> Norms:
    """Return norms of values (B, H, K, Ev) by weights (B, H, Sq, K), some rounded alike; `spread`, were none.

    A cell counts with the distances of its values from the output (B, H, Sq, Ev): its effect on the output as a whole,
    to which its roundings are relative, is no matter of cells.
    """
    if not spread.size:
        return Norms(spread, spread)
    alike = RoundedAlike(shares)
    of_sums, of_results = np.ravel(precision.accumulator).tolist(), np.ravel(precision.output).tolist()
    units = {unit: alike.unit_alike(unit) for unit in (*of_sums, *of_results)}
    found = {unit: alike.over_cells(shares, value, spread, unit, around=output) for unit in {*units.values()}}
    norms = {unit: found[like] for unit, like in units.items()}
    if isinstance(precision.output, float):
        return Norms(norms[of_sums[0]], norms[of_results[0]])
    if all(norm is spread for norm in norms.values()):
        return Norms(spread, spread)
    return Norms(*(np.stack([norms[unit] for unit in of_each]) for of_each in (of_sums, of_results)))


def norm_of_cells(
    shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any], spread: NDArray[Any], unit: float
) -> NDArray[Any]:
    """Return norms of the errors of results whose weights are rounded to one unit, as :func:`coherent_norms` has it."""
    alike = RoundedAlike(shares)
    return alike.over_cells(shares, value, spread, unit, around=output) if alike.has_cells(unit) else spread


def weighed_norm(coefficients: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
    """Return norms of values (..., K, W) times coefficients (..., R, K), all terms independent; safe from underflow."""
    largest = np.max(np.abs(coefficients), axis=-1, keepdims=True, initial=0.0)
    widest = np.max(np.abs(value), axis=-2, keepdims=True, initial=0.0)
    relative = coefficients / np.where(largest > 0, largest, 1.0)
    near = largest * widest * np.sqrt(relative**2 @ (value / np.where(widest > 0, widest, 1.0)) ** 2)
    # The largest coefficients may all meet values of 0: what is left is made of small ones alone.
    far = np.where(np.abs(relative) < _NEAR, coefficients, 0.0)
    return np.hypot(near, weighed_norm(far, value)) if far.any() else near


class _Cells(NamedTuple):
    """Rows of terms in which some lie in one cell.

    `rows` are their indices. Of each row M terms are taken cell by cell, all that share theirs among them: `by_mark`
    and `by_key` (rows, M) are their keys, the cells in the order of the marks and the terms of each in the order of the
    marks and of the keys; `opens` says where a cell begins. `apart` (rows, K - M) are the keys of terms that are alone.
    `same` (rows, K - 1) says which terms lie in the cell of the one before them, in the order of the marks.
    """

    rows: NDArray[np.int64]
    opens: NDArray[np.bool_]
    by_mark: NDArray[np.int64]
    by_key: NDArray[np.int64]
    apart: NDArray[np.int64]
    same: NDArray[np.bool_]


class RoundedAlike:
    """Rows of terms, of which those with nearly equal marks are rounded alike.

    Marks (B, H, R, K) are rounded, or decide how their results are; signs do not matter.
    """

    def __init__(self, marks: NDArray[Any]) -> None:
        self._shape = marks.shape
        self._marks = np.abs(marks).reshape(math.prod(marks.shape[:-1]), marks.shape[-1])
        self._cells: dict[float, _Cells | None] = {}

    @cached_property
    def _by_mark(self) -> NDArray[np.int64]:
        return np.argsort(self._marks, axis=-1, kind="stable")

    def has_cells(self, unit: float) -> bool:
        """Return whether marks of some row lie in one cell, among so many that it matters."""
        return self._shape[-1] > FEW_TERMS and bool(self._marks.size) and self._cells_of_unit(unit) is not None

    def unit_alike(self, unit: float) -> float:
        """Return the first unit that was requested whose cells are those of this one: equal marks share all cells."""
        cells = self._cells_of_unit(unit)
        return next(earlier for earlier, others in self._cells.items() if others is cells)

    def norm(self, coefficients: NDArray[Any], value: NDArray[Any], unit: float | NDArray[Any]) -> NDArray[Any]:
        """Return norms (B, H, R, W) of values (B, H, K, W), some rounded alike, to one unit or one for each run.

        Coefficients have the shape of the marks, with the runs in front where they differ.
        """
        spread = weighed_norm(coefficients, value)
        units, several = np.ravel(unit).tolist(), coefficients.ndim > len(self._shape)
        if not spread.size or not any(self.has_cells(one) for one in units):
            return spread
        if several:
            of_runs = zip(coefficients, spread, units, strict=True)
            norms = [self.over_cells(own, value, apart, one) for own, apart, one in of_runs]
        else:
            by_unit = {one: self.over_cells(coefficients, value, spread, one) for one in set(units)}
            norms = [by_unit[one] for one in units]
        return norms[0] if isinstance(unit, float) else np.stack(norms)

    def over_cells(
        self,
        coefficients: NDArray[Any],
        value: NDArray[Any],
        spread: NDArray[Any],
        unit: float,
        around: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the root of the sum of squares over cells, each with its largest sum of neighbours; at least `spread`.

        By key: a cell is rounded otherwise once a kernel goes over keys in parts or finds a larger maximum. By mark:
        within a cell, the error falls as the mark grows. Values count by distance from `around` (B, H, R, W), or 0.
        """
        cells = self._cells_of_unit(unit)
        if cells is None:
            return spread
        width, count = value.shape[-1], self._shape[-1]
        flat = coefficients.reshape(-1, count)
        heads = np.broadcast_to(value, (*self._shape[:-2], count, width)).reshape(-1, count, width)
        found = spread.reshape(-1, width).copy()

        def weighed(block: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[Any]:
            distances = heads[(block // self._shape[-2])[:, None], keys]
            if around is not None:
                distances = distances - around.reshape(-1, 1, width)[block]
            return np.take_along_axis(flat[block], keys, axis=-1)[..., None] * distances

        many = max(1, _LARGEST_BLOCK // (count * width))
        for start in range(0, cells.rows.size, many):
            part = slice(start, start + many)
            block, opens = cells.rows[part], cells.opens[part]
            by_mark, by_key = (weighed(block, keys[part]) for keys in (cells.by_mark, cells.by_key))
            sums = np.maximum(_largest_sums(by_mark, opens), _largest_sums(by_key, opens))
            alone = weighed(block, cells.apart[part])
            largest = np.maximum(sums.max(axis=0, initial=_LEAST), np.abs(alone).max(axis=(0, 1), initial=0.0))
            counts: NDArray[Any] = opens.sum(axis=-1)
            firsts: NDArray[Any] = np.cumsum(counts) - counts
            squares = np.add.reduceat((sums / largest) ** 2, firsts, axis=0) + np.sum((alone / largest) ** 2, axis=1)
            found[block] = np.maximum(found[block], largest * np.sqrt(squares))
        return found.reshape(spread.shape)

    def _cells_of_unit(self, unit: float) -> _Cells | None:
        """Return the rows in which marks lie in one cell of a unit, or None for none."""
        unit = max(unit, _FINEST)
        if unit not in self._cells:
            # The rounding step is widest, two units, just above a power of two.
            cells = np.floor(np.log2(self._marks) / math.log2(1 + 2 * unit))
            in_order = np.take_along_axis(cells, self._by_mark, axis=-1)
            same = (in_order[:, 1:] == in_order[:, :-1]) & np.isfinite(in_order[:, 1:])
            rows = np.flatnonzero(same.any(axis=-1))
            found = next((others for others in self._cells.values() if _are_cells_of(others, rows, same)), None)
            if rows.size and found is None:
                edge = np.ones((rows.size, 1), np.bool_)
                opens = np.concatenate([edge, ~same[rows]], axis=-1)
                alone = opens & np.concatenate([~same[rows], edge], axis=-1)
                most = int((~alone).sum(axis=-1).max())
                # Rows of fewer shared cells are filled up with terms that are alone: a cell of one term is one, too.
                shared_first = np.argsort(alone, axis=-1, kind="stable")
                looked_at, rest = shared_first[:, :most], shared_first[:, most:]
                by_mark, by_key = self._by_mark[rows], np.argsort(cells[rows], axis=-1, kind="stable")
                found = _Cells(
                    rows,
                    opens=np.take_along_axis(opens, looked_at, axis=-1),
                    by_mark=np.take_along_axis(by_mark, looked_at, axis=-1),
                    by_key=np.take_along_axis(by_key, looked_at, axis=-1),
                    apart=np.take_along_axis(by_mark, rest, axis=-1),
                    same=same[rows],
                )
            self._cells[unit] = found
        return self._cells[unit]


def _are_cells_of(cells: _Cells | None, rows: NDArray[np.int64], same: NDArray[np.bool_]) -> bool:
    return cells is not None and np.array_equal(cells.rows, rows) and np.array_equal(cells.same, same[rows])


def equal_terms(weights: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the root of the sum of squared counts of equal terms in each sum (B, H, R, W); 0 where all differ.

    Terms are weights (B, H, R, K) times numbers (B, H, K, W). An equal term, added to partial sums of one size, leaves
    the same digits behind each time, however other terms cancel it.
    """
    count, width = weights.shape[-1], numbers.shape[-1]
    flat = weights.reshape(-1, count)
    heads = np.broadcast_to(numbers, (*weights.shape[:-2], count, width)).reshape(-1, count, width)
    found = np.zeros((flat.shape[0], width))
    many = max(1, _LARGEST_BLOCK // max(count * width, 1))
    for start in range(0, flat.shape[0], many):
        block = np.arange(start, min(start + many, flat.shape[0]))
        terms = np.sort(flat[block][..., None] * heads[block // weights.shape[-2]], axis=1)
        near = np.abs(terms[:, 1:] - terms[:, :-1]) <= _EQUAL * np.abs(terms[:, 1:])
        ends = np.ones((block.size, count, width), np.bool_)
        ends[:, :-1] = ~(near & (terms[:, 1:] != 0))
        end: NDArray[np.int64] = np.arange(1, count + 1, dtype=np.int64).reshape(-1, 1)
        ends_at: NDArray[np.int64] = np.where(ends, end, 0)
        earlier = np.concatenate([np.zeros_like(ends_at[:, :1]), ends_at[:, :-1]], axis=1)
        before: NDArray[np.int64] = np.maximum.accumulate(earlier, axis=1)
        lengths: NDArray[np.int64] = ends_at - before
        counts = np.where(ends, lengths, 0).astype(np.float64)
        found[block] = np.sqrt(np.sum(np.where(counts > 1, counts**2, 0.0), axis=1))
    return found.reshape(*weights.shape[:-1], width)


def _largest_sums(terms: NDArray[Any], opens: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the largest absolute sum over neighbours in each cell (cells of all rows, Ev) of terms (rows, K, Ev).

    `opens` (rows, K) says where cells begin; each row's first position is one.
    """
    sums = np.cumsum(terms, axis=1)
    before = (sums - terms).reshape(-1, terms.shape[-1])
    sums, starts = sums.reshape(before.shape), np.flatnonzero(opens)
    highest = np.maximum(np.maximum.reduceat(sums, starts, axis=0), before[starts])
    lowest = np.minimum(np.minimum.reduceat(sums, starts, axis=0), before[starts])
    return highest - lowest

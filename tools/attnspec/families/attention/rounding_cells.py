"""Terms that are rounded alike: those whose weights lie in one rounding cell, too near to each other to be told apart.

Roundings of different terms are independent of each other; those of equal terms are not. A weight within one relative
rounding step of another is often rounded to the same number, and so is what comes of it. The errors of a cell add up
with the values that they meet, and do not cancel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.bounds.estimates import FEW_TERMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.bounds.precision import Precision

_FINEST = 2.0**-49
"""The finest unit: shares are known here in float64, whose own last digits may tell equal ones apart."""

_LARGEST_BLOCK = 2**22
"""Terms that are looked at together: more would take too much memory."""


class Norms(NamedTuple):
    """Norms of weighed values (B, H, Sq, Ev), with the runs in front where they differ from run to run.

    Attributes
    ----------
    summed
        Where roundings to the accumulator are alike.
    rounded
        Where roundings to the dtype of the results are alike.
    """

    summed: NDArray[Any]
    rounded: NDArray[Any]


def coherent_norms(
    shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any], spread: NDArray[Any], precision: Precision
) -> Norms:
    """Return the norms of weighed values of which some are rounded alike.

    A cell counts with the distances of its values from the output: what its roundings do to the output as a whole, to
    which they are relative, is no matter of cells.

    Parameters
    ----------
    shares
        Weights (B, H, Sq, K).
    value
        Values (B, H, K, Ev).
    output
        Weighted sums of the values (B, H, Sq, Ev).
    spread
        Norms of the weighed values (B, H, Sq, Ev), were all roundings independent.
    precision
        Unit roundoffs of the run.
    """
    if shares.shape[-1] <= FEW_TERMS or not spread.size:
        return Norms(spread, spread)
    of_sums, of_results = np.ravel(precision.accumulator).tolist(), np.ravel(precision.output).tolist()
    norms = {unit: _norm(shares, value, output, spread, unit) for unit in {*of_sums, *of_results}}
    if isinstance(precision.output, float):
        return Norms(norms[of_sums[0]], norms[of_results[0]])
    if all(norm is spread for norm in norms.values()):
        return Norms(spread, spread)
    return Norms(*(np.stack([norms[unit] for unit in units]) for units in (of_sums, of_results)))


def _norm(
    shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any], spread: NDArray[Any], unit: float
) -> NDArray[Any]:
    """Return the root of the sum of squares over the cells, each with its largest sum over neighbours.

    Neighbours in the order of the keys: where a kernel goes over the keys in parts, or finds a larger maximum on the
    way, a cell is rounded otherwise from there on. Neighbours in the order of the weights: within a cell, the error
    falls as the weight grows.
    """
    width = value.shape[-1]
    flat, heads = shares.reshape(-1, shares.shape[-1]), value.reshape(-1, *value.shape[-2:])
    # The rounding step is widest, two units, just above a power of two.
    cells = np.floor(np.log2(flat) / math.log2(1 + 2 * max(unit, _FINEST)))
    by_weight = np.argsort(flat, axis=-1, kind="stable")
    in_order = np.take_along_axis(cells, by_weight, axis=-1)
    same = (in_order[:, 1:] == in_order[:, :-1]) & np.isfinite(in_order[:, 1:])
    rows = np.flatnonzero(same.any(axis=-1))
    if not rows.size:
        return spread
    found, centres = spread.reshape(-1, width).copy(), output.reshape(-1, 1, width)
    many = max(1, _LARGEST_BLOCK // (flat.shape[-1] * width))
    for start in range(0, rows.size, many):
        block = rows[start : start + many]
        opens = np.concatenate([np.ones((block.size, 1), np.bool_), ~same[block]], axis=-1)
        ranges: list[NDArray[Any]] = []
        for keys in (by_weight[block], np.argsort(cells[block], axis=-1, kind="stable")):
            weights = np.take_along_axis(flat[block], keys, axis=-1)[..., None]
            distances = heads[(block // shares.shape[-2])[:, None], keys] - centres[block]
            ranges.append(_largest_sums(weights * distances, opens))
        squares = np.maximum(*ranges) ** 2
        counts: NDArray[Any] = opens.sum(axis=-1)
        firsts: NDArray[Any] = np.cumsum(counts) - counts
        found[block] = np.maximum(found[block], np.sqrt(np.add.reduceat(squares, firsts, axis=0)))
    return found.reshape(spread.shape)


def _largest_sums(terms: NDArray[Any], opens: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the largest sum over neighbours in each cell, as an absolute value (cells of all rows, Ev).

    Parameters
    ----------
    terms
        Weighed distances (rows, K, Ev), cell by cell.
    opens
        Where a cell begins (rows, K); the first place of a row is one.
    """
    sums = np.cumsum(terms, axis=1)
    before = (sums - terms).reshape(-1, terms.shape[-1])
    sums, starts = sums.reshape(before.shape), np.flatnonzero(opens)
    highest = np.maximum(np.maximum.reduceat(sums, starts, axis=0), before[starts])
    lowest = np.minimum(np.minimum.reduceat(sums, starts, axis=0), before[starts])
    return highest - lowest

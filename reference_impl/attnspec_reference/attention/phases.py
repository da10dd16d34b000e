"""The phases of attention that several operations share.

Each function is one step of a specification page, or the arithmetic in it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Booleans


def project(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Multiply every token by a weight matrix, and add the bias.

    Parameters
    ----------
    x
        Tokens (..., S, D).
    weight
        Weight matrix (D, D'), applied from the right.
    bias
        Bias (D',), or None.

    Returns
    -------
    projected
        ``x @ weight + bias`` (..., S, D').
    """
    product = x @ weight
    return product if bias is None else product + bias


def score_every_key(query: Array, key: Array) -> Array:
    """Take the dot product of every query with every key.

    Parameters
    ----------
    query
        Queries (..., Sq, E).
    key
        Keys (..., Sk, E).

    Returns
    -------
    raw_scores
        Unscaled scores (..., Sq, Sk): a row for each query, a column for each key.
    """
    return query @ key.swapaxes(-1, -2)


def applied_scale(scale: float | None, width: int) -> float:
    """Choose the factor by which scores are multiplied.

    Parameters
    ----------
    scale
        The scale that the caller gave, taken literally (0 and negative numbers too), or None.
    width
        Number of features of a query: the default is one over its square root.

    Returns
    -------
    factor
        The scale to apply.
    """
    return 1.0 / math.sqrt(width) if scale is None else float(scale)


def scale_scores(raw_scores: Array, scale: float) -> Array:
    """Multiply every score by the scale.

    Parameters
    ----------
    raw_scores
        Unscaled scores, any shape.
    scale
        The factor, from :func:`applied_scale`.

    Returns
    -------
    scores
        Scaled scores, same shape and dtype.
    """
    return raw_scores * scale


def weigh_values(weights: Array, value: Array, attendable: Booleans | None = None) -> Array:
    """Sum the values, each times its weight.

    Parameters
    ----------
    weights
        Weights (..., Sq, Sk).
    value
        Values (..., Sk, Ev).
    attendable
        True where a query may attend to a key (B, H, Sq, Sk), or None where every key may be attended.

    Returns
    -------
    output
        Weighted sums (..., Sq, Ev). A key that may not be attended adds nothing, whatever its value holds.
    """
    finite = np.isfinite(value)
    if attendable is None or finite.all():
        return weights @ value
    output = weights @ np.where(finite, value, 0)
    # The weight 0 of an excluded key does not silence a NaN (0 times NaN is NaN): values that are not
    # finite are added apart, by selection.
    remainder = np.where(finite, 0, value)
    for position in np.flatnonzero(~finite.all(axis=(0, 1, 3))):
        column = slice(position, position + 1)
        contribution = weights[..., column] * remainder[..., column, :]
        output = output + np.where(attendable[..., column], contribution, 0)
    return output

"""Merge states: two attentions over different keys, made into one over all of them.

Each part is the output of some keys, and the logarithm of its softmax denominator. The specification page is
``spec/operations/attention/merge_states.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen

Shape = tuple[int, ...]


class MergedStates(NamedTuple):
    """What two parts come to.

    Attributes
    ----------
    output
        Attention over the keys of both parts (B, H, S, Ev).
    logsumexp
        Natural logarithm of its softmax denominator (B, H, S).
    """

    output: Array
    logsumexp: Array


@quietly
def merge_states(
    output_a: ArrayLike, logsumexp_a: ArrayLike, output_b: ArrayLike, logsumexp_b: ArrayLike
) -> MergedStates:
    """Merge attention over some keys with attention over other keys.

    Parameters
    ----------
    output_a
        Output of the first part (B, H, S, Ev). Its dtype is the dtype of the results.
    logsumexp_a
        Natural logarithm of the softmax denominator of the first part (B, H, S); minus infinity where the part has no
        keys.
    output_b
        Output of the second part (B, H, S, Ev).
    logsumexp_b
        Logarithm of the second part (B, H, S).

    Returns
    -------
    result
        ``output`` and ``logsumexp``, in the dtype of ``output_a``.

    Raises
    ------
    ValueError
        The parts differ in shape, or have the wrong rank.
    """
    # Check the inputs
    check_inputs(np.shape(output_a), np.shape(logsumexp_a), np.shape(output_b), np.shape(logsumexp_b))

    # Widen
    dtype = result_dtype(output_a)
    output_a, output_b = widen(output_a, dtype), widen(output_b, dtype)
    logsumexp_a, logsumexp_b = widen(logsumexp_a, dtype), widen(logsumexp_b, dtype)

    # Find the larger logarithm
    largest = larger_logarithm(logsumexp_a, logsumexp_b)

    # Weigh each part
    weight_a, weight_b = weigh_part(logsumexp_a, largest), weigh_part(logsumexp_b, largest)

    # Add the weights
    total = add_weights(weight_a, weight_b)

    # Average the outputs
    output = average_outputs(
        take_part(output_a, weight_a, logsumexp_a), take_part(output_b, weight_b, logsumexp_b), total
    )

    # Take the logarithm
    logsumexp = logarithm_of_total(largest, total)

    # Round
    return MergedStates(round_to(dtype, output), round_to(dtype, logsumexp))


def check_inputs(output_a: Shape, logsumexp_a: Shape, output_b: Shape, logsumexp_b: Shape) -> None:
    """Refuse parts that do not belong to the same queries."""
    if output_a != output_b:
        raise ValueError(f"output_a has shape {output_a}, output_b {output_b}; both need the same shape.")
    if len(output_a) != 4:
        raise ValueError(f"Both outputs have shape {output_a}; they need rank 4: (batch, heads, queries, features).")
    for name, shape in (("logsumexp_a", logsumexp_a), ("logsumexp_b", logsumexp_b)):
        if shape != output_a[:3]:
            raise ValueError(f"{name} has shape {shape}; it needs {output_a[:3]}, a number for each row of output_a.")


def larger_logarithm(logsumexp_a: Array, logsumexp_b: Array) -> Array:
    """Take the larger logarithm of each row (B, H, S); minus infinity where neither part has keys."""
    return np.maximum(logsumexp_a, logsumexp_b)


def weigh_part(logsumexp: Array, largest: Array) -> Array:
    """Take e to the power of a logarithm's distance from the larger one (B, H, S); a part without keys gets 0."""
    return np.where(logsumexp == -np.inf, 0, np.exp(logsumexp - largest))


def add_weights(weight_a: Array, weight_b: Array) -> Array:
    """Add the weights of both parts (B, H, S); 0 where neither has keys."""
    return weight_a + weight_b


def take_part(output: Array, weight: Array, logsumexp: Array) -> Array:
    """Multiply an output by the weight of its part (B, H, S, Ev); a part without keys gives 0, whatever it holds."""
    # A weight of 0 does not silence a NaN.
    return np.where((logsumexp == -np.inf)[..., np.newaxis], 0, weight[..., np.newaxis] * output)


def average_outputs(taken_a: Array, taken_b: Array, total: Array) -> Array:
    """Divide the sum of both parts by the sum of their weights; a row without keys stays zero."""
    return (taken_a + taken_b) / np.where(total == 0, 1, total)[..., np.newaxis]


def logarithm_of_total(largest: Array, total: Array) -> Array:
    """Take the logarithm of the weights' sum, and add the larger logarithm back."""
    return largest + np.log(total)

"""What an implementation of attention is free to do: wider numbers, other sums, parts, padding, unasked rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.attention.attention_softmax import from_logits
from attnspec_controls.control import Control
from attnspec_mistakes.patches import by_name, patch
from attnspec_reference.attention.phases import exponentiate, largest_logit, log_sum_exp, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.precision import result_dtype, round_to

if TYPE_CHECKING:
    from attnspec_mistakes.patches import Outputs
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"


def in_double_precision(**arguments: Any) -> Outputs:
    """Compute every dtype in float64, and round the results once."""
    dtype = result_dtype(arguments["query"])
    widened = {
        name: value.astype(np.float64) if hasattr(value, "dtype") and value.dtype == dtype else value
        for name, value in arguments.items()
    }
    outputs = by_name(scaled_dot_product_attention(**widened))
    return {name: round_to(dtype, output) for name, output in outputs.items()}


def compensated_sum(exponentials: Array) -> Array:
    """Add the exponentials one after the other, and carry along what rounding takes away."""
    total = np.zeros((*exponentials.shape[:-1], 1), dtype=exponentials.dtype)
    lost = np.zeros_like(total)
    for key in range(exponentials.shape[-1]):
        added = exponentials[..., key : key + 1] - lost
        grown = total + added
        # Infinity minus infinity would be NaN: nothing is lost beside an infinity.
        lost = np.where(np.isfinite(grown), (grown - total) - added, 0)
        total = grown
    return total


def sum_of_halves(exponentials: Array) -> Array:
    """Add the two halves of the keys apart, each in the same way."""
    keys = exponentials.shape[-1]
    if keys < 2:
        return np.sum(exponentials, axis=-1, keepdims=True)
    return sum_of_halves(exponentials[..., : keys // 2]) + sum_of_halves(exponentials[..., keys // 2 :])


def halves_merged(attention: Attention, value: Array) -> Attention:
    """Attend to two halves of the keys apart, and weigh each by the exponential of its logsumexp."""
    logits = attention.logits
    half = logits.shape[-1] // 2
    parts = [(logits[..., :half], value[..., :half, :]), (logits[..., half:], value[..., half:, :])]
    outputs: list[Array] = []
    logsumexps: list[Array] = []
    for part, part_value in parts:
        largest = largest_logit(part)
        exponentials = exponentiate(part, largest)
        total = np.sum(exponentials, axis=-1, keepdims=True)
        weights = exponentials / np.where(total == 0, 1, total)
        outputs.append(weigh_values(weights, part_value, part != -np.inf))
        logsumexps.append(log_sum_exp(largest, total)[..., np.newaxis])
    largest = np.maximum(*logsumexps)
    shares = [exponentiate(logsumexp, largest) for logsumexp in logsumexps]
    total = shares[0] + shares[1]
    output = sum(
        np.where(share == 0, 0, share * output) for share, output in zip(shares, outputs, strict=True)
    ) / np.where(total == 0, 1, total)
    return attention._replace(output=output, logsumexp=log_sum_exp(largest, total))


def padded_to_tiles(attention: Attention, value: Array) -> Attention:
    """Fill the last tile of eight keys with excluded keys whose values are not even numbers."""
    filling = -attention.logits.shape[-1] % 8
    logits = np.pad(attention.logits, [(0, 0)] * 3 + [(0, filling)], constant_values=-np.inf)
    value = np.pad(value, [(0, 0)] * 2 + [(0, filling), (0, 0)], constant_values=np.nan)
    largest = largest_logit(logits)
    exponentials = exponentiate(logits, largest)
    total = np.sum(exponentials, axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return attention._replace(
        output=weigh_values(weights, value, logits != -np.inf),
        weights=weights[..., : attention.logits.shape[-1]],
        logsumexp=log_sum_exp(largest, total),
    )


def unanswered_rows_left(**arguments: Any) -> Attention:
    """Leave whatever lies in memory in the rows of queries that do not count."""
    attention = scaled_dot_product_attention(**arguments)
    lengths = arguments.get("query_lengths")
    if lengths is None:
        return attention
    rows: Booleans = np.greater_equal(np.arange(int(attention.output.shape[2])), np.reshape(lengths, (-1, 1, 1)))
    left = {
        name: np.where(rows[..., np.newaxis], np.asarray(7, dtype=array.dtype), array)
        for name, array in (("output", attention.output), ("weights", attention.weights))
    }
    return attention._replace(**left)


CONTROLS: tuple[Control, ...] = (
    Control(
        id="sdpa.in_double_precision",
        operation=OPERATION,
        sentence="Every dtype is computed in float64, and rounded once at the end.",
        function=in_double_precision,
    ),
    Control(
        id="sdpa.compensated_sum",
        operation=OPERATION,
        sentence="The sum of the exponentials carries along what rounding takes away.",
        function=patch(scaled_dot_product_attention, sum_over_keys=compensated_sum),
    ),
    Control(
        id="sdpa.sum_of_halves",
        operation=OPERATION,
        sentence="The exponentials are added pairwise, half by half.",
        function=patch(scaled_dot_product_attention, sum_over_keys=sum_of_halves),
    ),
    Control(
        id="sdpa.halves_merged",
        operation=OPERATION,
        sentence="Two halves of the keys are attended to apart, and merged by their logsumexps.",
        function=from_logits(halves_merged),
    ),
    Control(
        id="sdpa.padded_to_tiles",
        operation=OPERATION,
        sentence="The keys are filled up to a multiple of eight with excluded keys that hold NaN.",
        function=from_logits(padded_to_tiles),
    ),
    Control(
        id="sdpa.unanswered_rows_left",
        operation=OPERATION,
        sentence="The rows of queries that do not count hold whatever was there before.",
        function=unanswered_rows_left,
    ),
)

"""Other ways from the logits of attention to its output: online, by logarithm, in other orders."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference.attention.attention_logits import repeat_heads
from attnspec_reference.attention.phases import (
    divide_by_total,
    exponentiate,
    largest_logit,
    log_sum_exp,
    sum_over_keys,
    weigh_values,
)
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.patches import Computation
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"


def from_logits(
    finish: Callable[[Attention, Array], Attention], begin: Callable[..., Attention] = scaled_dot_product_attention
) -> Computation:
    """Make an attention that gets its logits from the reference, or a patched one, and does the rest in another way.

    A sink becomes one more key, which has its logit and a value of zeros.
    """

    def attend(**arguments: Any) -> Attention:
        attention = begin(**arguments)
        value = repeat_heads(attention.present_value, attention.logits.shape[1])
        sinks = arguments.get("sinks")
        if sinks is None:
            return finish(attention, value)
        # A query that is not answered has no sink.
        answered = attention.logsumexp[..., np.newaxis] != -np.inf
        column = np.where(answered, sinks[:, np.newaxis, np.newaxis], -np.inf)
        finished = finish(
            attention._replace(logits=np.concatenate([attention.logits, column], axis=-1)),
            np.pad(value, ((0, 0), (0, 0), (0, 1), (0, 0))),
        )
        keys = attention.logits.shape[-1]
        return finished._replace(logits=attention.logits, weights=finished.weights[..., :keys])

    return in_working_precision(attend)


def online(tile: int) -> Callable[[Attention, Array], Attention]:
    """Make a pass over tiles of keys that corrects what it has so far whenever it meets a larger logit."""

    def finish(attention: Attention, value: Array) -> Attention:
        logits = attention.logits
        largest = np.full((*logits.shape[:-1], 1), -np.inf, dtype=logits.dtype)
        total = np.zeros_like(largest)
        output = np.zeros((*logits.shape[:-1], value.shape[-1]), dtype=logits.dtype)
        for start in range(0, logits.shape[-1], tile):
            part = logits[..., start : start + tile]
            larger = np.maximum(largest, largest_logit(part))
            correction = exponentiate(largest, larger)
            exponentials = exponentiate(part, larger)
            total = total * correction + sum_over_keys(exponentials)
            output = output * correction + weigh_values(
                exponentials, value[..., start : start + tile, :], part != -np.inf
            )
            largest = larger
        return attention._replace(
            output=divide_by_total(output, total),
            weights=divide_by_total(exponentiate(logits, largest), total),
            logsumexp=log_sum_exp(largest, total),
        )

    return finish


def by_logarithm(attention: Attention, value: Array) -> Attention:
    """Subtract the logarithm of the denominator, then take the exponential: no division is left."""
    largest = largest_logit(attention.logits)
    distances = attention.logits - np.where(largest == -np.inf, 0, largest)
    total = sum_over_keys(np.exp(distances))
    weights = exponentiate(distances, np.log(total))
    return attention._replace(weights=weights, output=weigh_values(weights, value, attention.logits != -np.inf))


def divided_last(attention: Attention, value: Array) -> Attention:
    """Weigh the values by the exponentials, and divide the result instead of the weights."""
    exponentials = exponentiate(attention.logits, largest_logit(attention.logits))
    weighed = weigh_values(exponentials, value, attention.logits != -np.inf)
    return attention._replace(output=divide_by_total(weighed, sum_over_keys(exponentials)))


def keys_reversed(attention: Attention, value: Array) -> Attention:
    """Go through the keys from the last to the first."""
    logits, value = attention.logits[..., ::-1], value[..., ::-1, :]
    largest = largest_logit(logits)
    exponentials = exponentiate(logits, largest)
    total = sum_over_keys(exponentials)
    weights = divide_by_total(exponentials, total)
    return attention._replace(
        output=weigh_values(weights, value, logits != -np.inf),
        weights=weights[..., ::-1],
        logsumexp=log_sum_exp(largest, total),
    )


def powers_of_two(logits: Array, largest: Array) -> Array:
    """Take powers of two, the logarithm of e folded into both terms of the exponent, as fused kernels do."""
    shift = np.where(largest == -np.inf, 0, largest)
    return np.exp2(_in_bits(logits) - _in_bits(shift))


def _in_bits(numbers: Array) -> Array:
    """Express numbers in units of log 2; the lowest finite ones stay finite, for minus infinity would exclude a key."""
    most = np.finfo(numbers.dtype).max
    return np.where(np.isfinite(numbers), np.clip(numbers * math.log2(math.e), -most, most), numbers)


CONTROLS: tuple[Control, ...] = (
    *(
        Control(
            id=f"sdpa.online_softmax_tiles_of_{tile}",
            operation=OPERATION,
            sentence=f"The softmax is taken online, in one pass over tiles of at most {tile} keys.",
            function=from_logits(online(tile)),
        )
        for tile in (1, 2, 8)
    ),
    Control(
        id="sdpa.powers_of_two",
        operation=OPERATION,
        sentence="The exponentials are powers of two, with the logarithm of e folded into the exponents.",
        function=patch(scaled_dot_product_attention, exponentiate=powers_of_two),
    ),
    Control(
        id="sdpa.by_logarithm",
        operation=OPERATION,
        sentence="The logarithm of the denominator is subtracted before the exponential.",
        function=from_logits(by_logarithm),
    ),
    Control(
        id="sdpa.divided_last",
        operation=OPERATION,
        sentence="The weighted sum of the values is divided by the sum of the exponentials at the end.",
        function=from_logits(divided_last),
    ),
    Control(
        id="sdpa.keys_reversed",
        operation=OPERATION,
        sentence="The keys and their values are gone through in reverse order.",
        function=from_logits(keys_reversed),
    ),
)

"""What goes wrong with the sinks of attention."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_biases import slopes_of_first_head as of_first_head
from attnspec_mistakes.departures import altered, departure, ignoring, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_logits import exclude_keys
from attnspec_reference.attention.attention_softmax import join_sinks, largest_logit, sum_over_keys
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array, Booleans, Integers

OPERATION = "scaled_dot_product_attention"


def sinks_joining_elsewhere(place: Callable[[Array], dict[str, object]]) -> Computation:
    """Make an attention in which the sinks (Hq, 1, 1) act at another step than their own."""

    @in_working_precision
    def attend(*, sinks: Array | None = None, **arguments: Any) -> Attention:
        if sinks is None:
            return scaled_dot_product_attention(**arguments)
        return departure(scaled_dot_product_attention, **place(sinks[:, np.newaxis, np.newaxis]))(**arguments)

    return attend


def on_first_key(sinks: Array) -> dict[str, object]:
    """Add the sink to the logit of the first key."""

    def excluded(logits: Array, attendable: Booleans) -> Array:
        first: Booleans = np.equal(np.arange(int(logits.shape[-1])), 0)
        return exclude_keys(logits + np.where(first, sinks, 0), attendable)

    return {"exclude_keys": excluded}


def not_exponentiated(sinks: Array) -> dict[str, object]:
    """Add the sink itself to the denominator."""

    def total(exponentials: Array) -> Array:
        return sum_over_keys(exponentials) + sinks

    return {"sum_over_keys": total}


def largest_from_zero_up(**arguments: Any) -> Attention:
    """Look for the largest term from zero up where there are sinks: exponentials vanish where all lie far below."""

    def largest(terms: Array) -> Array:
        return np.maximum(largest_logit(terms), 0)

    steps = {} if arguments.get("sinks") is None else {"largest_logit": largest}
    return departure(scaled_dot_product_attention, **steps)(**arguments)


def not_shifted(sinks: Array) -> dict[str, object]:
    """Add the exponential of the sink to a denominator from which the largest logit was taken."""

    def total(exponentials: Array) -> Array:
        return sum_over_keys(exponentials) + np.exp(sinks)

    return {"sum_over_keys": total}


def sinks_of_shared_heads(**arguments: Any) -> Attention:
    """Take the sink by the number of the key head."""
    sinks = arguments.get("sinks")
    if sinks is not None:
        heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
        arguments["sinks"] = sinks[np.arange(heads) * shared // heads]
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def sinks_scaled(**arguments: Any) -> Attention:
    """Scale the sinks, too."""
    if arguments.get("sinks") is not None:
        scale = applied_scale(arguments.get("scale"), np.shape(arguments["query"])[-1])
        arguments["sinks"] = arguments["sinks"] * scale
    return scaled_dot_product_attention(**arguments)


def missing_in_logsumexp(**arguments: Any) -> Attention:
    """Give the logsumexp of the keys alone."""
    without = {name: value for name, value in arguments.items() if name != "sinks"}
    logsumexp = scaled_dot_product_attention(**without).logsumexp
    return scaled_dot_product_attention(**arguments)._replace(logsumexp=logsumexp)


def missing_in_weights(**arguments: Any) -> Attention:
    """Give weights that sum to one beside a sink."""
    without = {name: value for name, value in arguments.items() if name != "sinks"}
    weights = scaled_dot_product_attention(**without).weights
    return scaled_dot_product_attention(**arguments)._replace(weights=weights)


def masked_with_the_keys(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
    """Leave the sink out of rows whose keys are all excluded."""
    terms = join_sinks(logits, sinks, query_lengths)
    return np.where((logits == -np.inf).all(axis=-1, keepdims=True), -np.inf, terms)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.sinks_ignored",
        clause="sdpa.sinks.denominator",
        sentence="The sinks were ignored: the weights of the keys sum to 1.",
        engineer="The sink operand does not reach the kernel that was dispatched to.",
        remedy="Add the exponential of the sink to the softmax denominator of every query of its head.",
        function=ignoring(scaled_dot_product_attention, "sinks"),
    ),
    mistake(
        id="sdpa.sink_of_first_head",
        clause="sdpa.sinks.denominator",
        sentence="Every head was given the sink of the first one.",
        engineer="The sink is read at index 0 for every head.",
        remedy="Give query head h sink h.",
        function=altered(scaled_dot_product_attention, sinks=of_first_head),
    ),
    mistake(
        id="sdpa.sink_of_shared_head",
        clause="sdpa.sinks.denominator",
        sentence="Query heads that share a key head were given one sink: that of the number of the key head.",
        engineer="The sink is indexed by kv_head instead of by query head.",
        remedy="Give query head h sink h, however many share a key head.",
        function=sinks_of_shared_heads,
    ),
    mistake(
        id="sdpa.sinks_scaled",
        clause="sdpa.sinks.denominator",
        sentence="The sinks were multiplied by the scale of the scores.",
        engineer="The sink joins the row before the softmax scale is applied.",
        remedy="Let the sinks join the softmax as they are: unscaled, uncapped, unbiased.",
        function=sinks_scaled,
    ),
    mistake(
        id="sdpa.sink_on_first_key",
        clause="sdpa.sinks.denominator",
        sentence="The sink was added to the score of the first key; it belongs to no key.",
        engineer="The sink is a bias on column 0 instead of a column of its own.",
        remedy="Add the exponential of the sink to the denominator, and leave the scores alone.",
        function=sinks_joining_elsewhere(on_first_key),
    ),
    mistake(
        id="sdpa.sink_not_exponentiated",
        clause="sdpa.sinks.denominator",
        sentence="The sink itself was added to the denominator, not its exponential.",
        engineer="The sink is added to the row sum as if it were exp(sink).",
        remedy="A sink is a logit: take its exponential, as for every other logit.",
        function=sinks_joining_elsewhere(not_exponentiated),
    ),
    mistake(
        id="sdpa.sink_not_shifted",
        clause="sdpa.sinks.denominator",
        sentence="The largest logit was subtracted from the scores, but not from the sink.",
        engineer="exp(sink) is added to a row sum of exp(s - max): the sink is outside the running maximum.",
        remedy="Let the sink take part in the maximum, and subtract that from the sink, too.",
        function=sinks_joining_elsewhere(not_shifted),
        source="https://github.com/sgl-project/sgl-kernel-npu/pull/216",
    ),
    mistake(
        id="sdpa.sink_missing_in_weights",
        clause="sdpa.sinks.denominator",
        sentence="The weights that were returned sum to 1 beside a sink, but the output is right.",
        engineer="The returned probabilities are normalised without the sink; the output is not.",
        remedy="Divide the weights by the denominator that the output is divided by.",
        function=missing_in_weights,
    ),
    mistake(
        id="sdpa.sink_missing_in_logsumexp",
        clause="sdpa.sinks.logsumexp",
        sentence="The logsumexp leaves out the sink.",
        engineer="The LSE is written before the sink joins the row sum.",
        remedy="Take the logarithm of the whole denominator, the sink included.",
        function=missing_in_logsumexp,
        source="https://github.com/ROCm/fleet-chiplet-megakernel/pull/8",
    ),
    mistake(
        id="sdpa.sink_masked_with_the_keys",
        clause="sdpa.sinks.fully_masked_row",
        sentence="A query whose keys are all excluded lost its sink, too: its logsumexp is minus infinity.",
        engineer="The early exit for a row without keys skips the sink, so the LSE stays -inf.",
        remedy="A sink is never masked: without keys the logsumexp is the sink.",
        function=departure(scaled_dot_product_attention, join_sinks=masked_with_the_keys),
        source="https://github.com/Dao-AILab/flash-attention/pull/2752",
    ),
    mistake(
        id="sdpa.sink_maximum_from_zero",
        clause="sdpa.softmax.stability",
        sentence="With sinks, the largest term was looked for from zero up: rows far below zero came to nothing.",
        engineer="The running maximum of a kernel with sinks begins at 0 instead of minus infinity.",
        remedy="Begin at the sink, or at minus infinity.",
        function=largest_from_zero_up,
    ),
)

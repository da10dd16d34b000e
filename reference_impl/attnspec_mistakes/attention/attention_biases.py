"""What goes wrong between the scores and the logits of attention: the softcap and ALiBi."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure, ignoring, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_keys import distances_ahead
from attnspec_reference.attention.attention_logits import add_distance_bias, cap_scores, exclude_keys
from attnspec_reference.attention.phases import applied_scale, scale_scores
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"


def capped_by(formula: Callable[[Array, float], Array]) -> Computation:
    """Make an attention whose cap has another formula; None and 0 leave the scores as they are."""

    def cap(scores: Array, softcap: float | None) -> Array:
        return formula(scores, float(softcap)) if softcap else scores

    return departure(scaled_dot_product_attention, cap_scores=cap)


def capped_even_by_zero(scores: Array, softcap: float | None) -> Array:
    """Cap by 0, too."""
    if softcap is None:
        return scores
    cap = np.asarray(softcap, dtype=scores.dtype)
    with np.errstate(all="ignore"):
        return cap * np.tanh(scores / cap)


def capped_elsewhere(place: Callable[[float | None], dict[str, object]]) -> Computation:
    """Make an attention that caps at another step than its own."""

    @in_working_precision
    def attend(*, softcap: float | None = None, **arguments: Any) -> Attention:
        return departure(scaled_dot_product_attention, **place(softcap))(**arguments)

    return attend


def before_scale(softcap: float | None) -> dict[str, object]:
    """Cap the dot products, then scale them."""

    def scaled(raw_scores: Array, scale: float) -> Array:
        return scale_scores(cap_scores(raw_scores, softcap), scale)

    return {"scale_scores": scaled}


def after_bias(softcap: float | None) -> dict[str, object]:
    """Cap the scores together with their biases."""

    def excluded(logits: Array, attendable: Booleans) -> Array:
        return exclude_keys(cap_scores(logits, softcap), attendable)

    return {"exclude_keys": excluded}


def after_exclusion(softcap: float | None) -> dict[str, object]:
    """Cap even the minus infinity of excluded keys."""

    def excluded(logits: Array, attendable: Booleans) -> Array:
        return cap_scores(exclude_keys(logits, attendable), softcap)

    return {"exclude_keys": excluded}


@in_working_precision
def sinks_capped(**arguments: Any) -> Attention:
    """Cap the sinks, too."""
    if arguments.get("sinks") is not None:
        arguments["sinks"] = cap_scores(arguments["sinks"], arguments.get("softcap"))
    return scaled_dot_product_attention(**arguments)


def biased_by(distance: Callable[[Array], Array]) -> Computation:
    """Make an attention that takes another distance from how far a key stands ahead of a query."""

    def bias(scores: Array, alibi_slopes: Array | None, offset: Any) -> Array:
        if alibi_slopes is None:
            return scores
        query_length, key_length = scores.shape[2:]
        ahead = distances_ahead(query_length, key_length, offset).astype(scores.dtype)
        return scores - alibi_slopes[:, np.newaxis, np.newaxis] * distance(ahead)

    return departure(scaled_dot_product_attention, add_distance_bias=bias)


def biased_from_row(scores: Array, alibi_slopes: Array | None, _offset: Any) -> Array:
    """Take the distance from the number of a query, not from its position."""
    return add_distance_bias(scores, alibi_slopes, 0)


def biased_at_the_end(scores: Array, alibi_slopes: Array | None, _offset: Any) -> Array:
    """Take the distances as if the last query always stood at the last key."""
    query_length, key_length = scores.shape[2:]
    return add_distance_bias(scores, alibi_slopes, key_length - query_length)


def slopes_of_first_head(slopes: Array) -> Array:
    """Give every head the slope of the first one."""
    return np.full_like(slopes, slopes[:1].sum())


def standard_slopes(slopes: Array) -> Array:
    """Make slopes by the rule of the paper, whatever slopes are given."""
    heads = len(slopes)
    return (2.0 ** (-8.0 * np.arange(1, heads + 1) / max(heads, 1))).astype(slopes.dtype)


def slopes_of_shared_heads(**arguments: Any) -> Attention:
    """Take the slope by the number of the key head."""
    slopes = arguments.get("alibi_slopes")
    if slopes is not None:
        heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
        arguments["alibi_slopes"] = slopes[np.arange(heads) * shared // heads]
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def bias_scaled_too(**arguments: Any) -> Attention:
    """Bias the dot products and scale the result."""
    if arguments.get("alibi_slopes") is not None:
        scale = applied_scale(arguments.get("scale"), np.shape(arguments["query"])[-1])
        arguments["alibi_slopes"] = arguments["alibi_slopes"] * scale
    return scaled_dot_product_attention(**arguments)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.softcap_ignored",
        clause="sdpa.softcap.definition",
        sentence="The softcap was ignored.",
        engineer="The cap does not reach the kernel, which runs its uncapped variant.",
        remedy="Replace each score s by c * tanh(s / c).",
        function=ignoring(scaled_dot_product_attention, "softcap"),
        source="https://github.com/sgl-project/sglang/issues/33915",
    ),
    mistake(
        id="sdpa.softcap_clipped",
        clause="sdpa.softcap.definition",
        sentence="The scores were cut off at the softcap instead of bent towards it.",
        engineer="The cap is a clamp where c * tanh(s / c) is due.",
        remedy="Replace each score s by c * tanh(s / c).",
        function=capped_by(lambda scores, cap: np.clip(scores, -cap, cap)),
    ),
    mistake(
        id="sdpa.softcap_not_multiplied_back",
        clause="sdpa.softcap.definition",
        sentence="The hyperbolic tangent was not multiplied by the softcap, so all scores lie between -1 and 1.",
        engineer="The cap is tanh(s / c): the outer factor c is missing.",
        remedy="Replace each score s by c * tanh(s / c).",
        function=capped_by(lambda scores, cap: np.tanh(scores / cap)),
        source="https://github.com/flashinfer-ai/flashinfer/issues/1193",
    ),
    mistake(
        id="sdpa.softcap_argument_undivided",
        clause="sdpa.softcap.definition",
        sentence="The scores were not divided by the softcap before the hyperbolic tangent.",
        engineer="The cap is c * tanh(s): the inner division by c is missing.",
        remedy="Replace each score s by c * tanh(s / c).",
        function=capped_by(lambda scores, cap: cap * np.tanh(scores)),
    ),
    mistake(
        id="sdpa.softcap_before_scale",
        clause="sdpa.softcap.order",
        sentence="The dot products were capped before they were scaled.",
        engineer="The cap is applied to QK, and the scale is folded in afterwards.",
        remedy="Scale first, then cap.",
        function=capped_elsewhere(before_scale),
    ),
    mistake(
        id="sdpa.softcap_after_bias",
        clause="sdpa.softcap.order",
        sentence="The mask was added before the softcap, so it was capped, too.",
        engineer="The cap is applied to score + bias.",
        remedy="Cap the scaled scores first, then add ALiBi and the mask.",
        function=capped_elsewhere(after_bias),
        source="https://github.com/emmtrix/emx-onnx-cgen/pull/731",
    ),
    mistake(
        id="sdpa.softcap_after_mask",
        clause="sdpa.softcap.order",
        sentence="Keys were excluded before the softcap, which turned minus infinity into minus the cap.",
        engineer="The -inf of the mask goes through tanh and becomes -c: masked keys get weight.",
        remedy="Cap the scaled scores first, then exclude keys.",
        function=capped_elsewhere(after_exclusion),
        source="https://github.com/onnx/onnx/issues/7865",
    ),
    mistake(
        id="sdpa.softcap_zero_applied",
        clause="sdpa.softcap.off",
        sentence="A softcap of 0 was applied: every score became 0 or NaN.",
        engineer="The cap is applied whenever it is not null: 0 * tanh(s / 0).",
        remedy="Leave the scores as they are when the softcap is 0.",
        function=departure(scaled_dot_product_attention, cap_scores=capped_even_by_zero),
    ),
    mistake(
        id="sdpa.sinks_capped",
        clause="sdpa.sinks.denominator",
        sentence="The sinks were capped together with the scores.",
        engineer="The sink joins the row before the cap is applied.",
        remedy="Let the sinks join the softmax as they are: unscaled, uncapped, unbiased.",
        function=sinks_capped,
    ),
    mistake(
        id="sdpa.alibi_ignored",
        clause="sdpa.alibi.distance",
        sentence="The argument alibi_slopes was ignored.",
        engineer="The slope pointer does not reach the kernel that was dispatched to.",
        remedy="Lower each score by the slope times the distance between query and key.",
        function=ignoring(scaled_dot_product_attention, "alibi_slopes"),
        source="https://github.com/lucidrains/x-transformers/pull/300",
    ),
    mistake(
        id="sdpa.alibi_sign_flipped",
        clause="sdpa.alibi.distance",
        sentence="The sign of ALiBi is wrong: distant keys were favoured.",
        engineer="The bias is +slope * |row - col|.",
        remedy="Subtract the slope times the distance.",
        function=altered(scaled_dot_product_attention, alibi_slopes=np.negative),
        source="https://github.com/meta-pytorch/attention-gym/pull/86",
    ),
    mistake(
        id="sdpa.alibi_signed_distance",
        clause="sdpa.alibi.distance",
        sentence="The distance was taken with its sign, so later keys were raised instead of lowered.",
        engineer="The bias is slope * (col - row) without the absolute value.",
        remedy="Take the absolute value of the distance.",
        function=biased_by(np.negative),
    ),
    mistake(
        id="sdpa.alibi_future_unbiased",
        clause="sdpa.alibi.distance",
        sentence="Keys after the query were not lowered at all.",
        engineer="The bias is clamped at 0 for col > row, as if attention were always causal.",
        remedy="Take the absolute value of the distance: later keys are distant, too.",
        function=biased_by(lambda ahead: np.maximum(-ahead, 0)),
    ),
    mistake(
        id="sdpa.alibi_scaled_too",
        clause="sdpa.alibi.distance",
        sentence="ALiBi was added before the scale, so it was scaled, too.",
        engineer="The bias is added to QK, and the sum is multiplied by the softmax scale.",
        remedy="Scale the dot products first, then subtract the slope times the distance.",
        function=bias_scaled_too,
    ),
    mistake(
        id="sdpa.alibi_from_row",
        clause="sdpa.alibi.position",
        sentence="The distance was counted from the number of the query, not from its position.",
        engineer="The bias uses the row index; past length and alignment shift are not added.",
        remedy="Count from position i + offset, as causality does.",
        function=departure(scaled_dot_product_attention, add_distance_bias=biased_from_row),
        source="https://github.com/lucidrains/x-transformers/pull/300",
    ),
    mistake(
        id="sdpa.alibi_at_the_end",
        clause="sdpa.alibi.position",
        sentence="The distance was counted as if the last query always stood at the last key, whatever was asked for.",
        engineer="The bias hard-codes the bottom-right shift Sk - Sq of the arrays.",
        remedy="Count from position i + offset, as causality does.",
        function=departure(scaled_dot_product_attention, add_distance_bias=biased_at_the_end),
    ),
    mistake(
        id="sdpa.alibi_of_first_head",
        clause="sdpa.alibi.heads",
        sentence="Every head was given the slope of the first one.",
        engineer="The slope is read at index 0 for every head.",
        remedy="Give query head h slope h.",
        function=altered(scaled_dot_product_attention, alibi_slopes=slopes_of_first_head),
        source="https://github.com/ggml-org/llama.cpp/pull/20031",
    ),
    mistake(
        id="sdpa.alibi_of_shared_head",
        clause="sdpa.alibi.heads",
        sentence="Query heads that share a key head were given one slope: that of the number of the key head.",
        engineer="The slope is indexed by kv_head instead of by query head.",
        remedy="Give query head h slope h, however many share a key head.",
        function=slopes_of_shared_heads,
    ),
    mistake(
        id="sdpa.alibi_standard_slopes",
        clause="sdpa.alibi.heads",
        sentence="The slopes were computed from the number of heads; those that were given were ignored.",
        engineer="The kernel derives the slopes 2^(-8h/H) itself instead of reading them.",
        remedy="Use the slopes that are given.",
        function=altered(scaled_dot_product_attention, alibi_slopes=standard_slopes),
    ),
)

"""The tolerance of every output of every operation of attention: the model, run through the phases of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.estimates import (
    as_output,
    carried_error,
    drift_of_shares,
    exactly,
    exponent_error,
    linear,
    share_error,
    share_interval,
    vacuous_shares,
)
from attnspec.bounds.tolerance import Estimate, Interval, Tolerance, deferred
from attnspec.families.attention.steps.nonfinite import reached_by_excluded, reached_by_infinity, rows_of_open_scores
from attnspec.families.attention.steps.quantized import product_with_scale, quantization, too_large
from attnspec.families.attention.tolerance.error_bound import AttentionBound, attention_tolerance
from attnspec.families.attention.tolerance.logit_error import Alternatives, repeated
from attnspec.families.attention.tolerance.marks import means, open_weights, row_marks, step_marks, unspecified_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Precision
    from attnspec.families.attention.tolerance.error_bound import AttentionTolerance
    from attnspec.families.record import Arrays, Marks


def tolerance(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, conventions: Mapping[str, str]
) -> Tolerance:
    """Return values and tolerances of the outputs of a case, as `ToleranceModel` has it."""
    rounded = {name: conventions.get(name) for name in ("dequantized", "quantized_weights")}
    alternatives = Alternatives(
        uniform_rows=conventions.get("fully_masked_row") == "uniform",
        filled_rows=conventions.get("fully_masked_row") == "filled",
        alibi_by_column=conventions.get("alibi_bias") == "column",
        logsumexp_base_2=conventions.get("logsumexp_base") == "2",
        **{name: None if choice == "kept" else choice for name, choice in rounded.items()},
    )
    with np.errstate(all="ignore"):
        return _BY_OPERATION[operation](inputs, attributes, precision, alternatives)


def _softmax_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, _: Alternatives
) -> Tolerance:
    x = exactly(inputs["x"]).value
    axis = attributes.get("axis", -1)
    rows, given_rows = (
        array.reshape(1, -1) if axis is None else np.moveaxis(array, axis, -1) for array in (x, inputs["x"])
    )
    # Minus infinity weighs nothing, and a row of nothing else is none of this page.
    hidden = np.isneginf(given_rows)
    hidden &= ~hidden.all(axis=-1, keepdims=True)
    largest = np.max(rows, axis=-1, keepdims=True, initial=-np.inf, where=~hidden)
    distance = np.where(hidden, np.inf, largest - rows)
    exponentials = np.exp(-distance)
    total = np.sum(exponentials, axis=-1, keepdims=True)
    shares = exponentials / total
    # x itself may be scaled before the maximum is taken, as where exp is computed by exp2.
    drift = precision.at_rank(rows.ndim).accumulator * np.abs(rows)
    relative = exponent_error(distance, drift, precision)
    terms, logarithm = rows.shape[-1], np.abs(largest + np.log(total))
    drift = drift_of_shares(shares, terms, precision)
    over_rows = Estimate(shares, share_error(shares, relative, drift, logarithm, precision))

    def placed(array: NDArray[Any]) -> NDArray[Any]:
        if axis is None:
            return array.reshape((*array.shape[:-2], *x.shape))
        return np.moveaxis(array, -1, axis if axis < 0 else axis - x.ndim)

    def interval() -> Interval:
        return Interval(*map(placed, share_interval(over_rows, drift, logarithm, precision)))

    return Tolerance(
        deferred(output=Estimate(placed(shares), placed(over_rows.error))),
        {"output": lambda: placed(vacuous_shares(over_rows))},
        interval={"output": interval},
    )


def _mask_tolerance(_: Mapping[str, Any], attributes: Mapping[str, Any], __: Precision, ___: Alternatives) -> Tolerance:
    rows: int = attributes["query_length"]
    length: int | None = attributes.get("key_length")
    columns = rows if length is None else length
    allowed = np.arange(columns) <= np.arange(rows)[:, None] + attributes.get("offset", 0)
    value = np.where(allowed, 0.0, -np.inf) if attributes.get("additive") else allowed.astype(np.float64)
    return Tolerance(deferred(output=Estimate(value, np.zeros(value.shape))))


def _attention_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    raw = {name: inputs[name] for name in ("query", "key", "value")}
    # Past and new numbers are written beside each other; they are multiplied by one scale.
    for name in ("key", "value"):
        if f"past_{name}" in inputs:
            raw[name] = np.concatenate([inputs[f"past_{name}"], raw[name]], axis=-2)
    quantized = None
    if any(f"{name}_scale" in inputs for name in raw):
        quantized = quantization(inputs, raw, precision, alternatives.dequantized, alternatives.quantized_weights)
        heads = inputs["key"].shape[1]
        raw = {name: product_with_scale(array, inputs.get(f"{name}_scale"), heads) for name, array in raw.items()}
    query, key, value = exactly(raw["query"]), exactly(raw["key"]), exactly(raw["value"])
    settings = {name: value for name, value in attributes.items() if name != "output_dtype"}
    result = attention_tolerance(
        query,
        key,
        value,
        precision,
        inputs,
        past=raw["key"].shape[-2] - inputs["key"].shape[-2],
        unreadable=None if query.is_whole and key.is_whole else (raw["query"], raw["key"]),
        alternatives=alternatives,
        quantized=quantized,
        **settings,
    )
    shared, masked = inputs["query"].shape[1] // max(inputs["key"].shape[1], 1), result.fully_masked

    def meeting(largest: float) -> NDArray[np.bool_]:
        keys, values = repeated(key.value, shared), repeated(value.value, shared)
        return too_large(query.value, keys, values, result.keys.attendable, largest)

    def stored_too_large(run: int) -> NDArray[np.bool_]:
        """Only what is quantized is multiplied before it is stored."""
        return meeting(np.inf if quantized is None else result.largest(run))

    def reached() -> Marks:
        if key.is_whole and value.is_whole:
            return {}
        return reached_by_excluded(repeated(raw["key"], shared), repeated(raw["value"], shared), result.keys.attendable)

    def compensated() -> Marks:
        if query.is_whole and key.is_whole:
            return {}
        return reached_by_infinity(raw["query"], repeated(raw["key"], shared), result.keys.attendable)

    return AttentionBound(
        {
            "output": lambda: result.output,
            "weights": lambda: result.weights,
            "logsumexp": lambda: result.logsumexp,
            "scores": lambda: result.scores,
            "logits": lambda: result.logits,
            "present_key": lambda: key,
            "present_value": lambda: value,
        },
        {"output": lambda: result.vacuous, "weights": lambda: result.vacuous_weights},
        {} if masked is None else row_marks(result, masked),
        without_mean={} if masked is None else row_marks(result, masked & ~result.live.any(axis=-1)),
        no_keys=raw["key"].shape[-2] == 0,
        reached=reached,
        compensated=compensated,
        open_scores=lambda: step_marks(
            result, rows_of_open_scores(raw["query"], repeated(raw["key"], shared), result.keys.attendable, inputs)
        ),
        means=lambda: means(repeated(raw["value"], shared)),
        shift=result.shift,
        unspecified=unspecified_elements(result),
        interval={"output": lambda: result.interval, "weights": lambda: result.interval_of_weights},
        overflowed=lambda run: step_marks(result, result.overflows(run) | stored_too_large(run)),
        quantized=quantized,
        beyond_dequantized=lambda: step_marks(result, meeting(np.inf if quantized is None else quantized.largest)),
    )


def _context_vector_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, _: Alternatives
) -> Tolerance:
    states = exactly(inputs["encoder_states"][None, None])
    query = exactly(inputs["decoder_state"][None, None, None])
    result = attention_tolerance(query, states, states, precision, {}, **attributes)
    return AttentionBound(
        {
            "context": lambda: _without_axes(result.output),
            "weights": lambda: _without_axes(result.weights),
            "scores": lambda: _without_axes(result.scores),
            "raw_scores": lambda: _raw_scores(inputs, precision),
        },
        {
            "context": lambda: result.vacuous[..., 0, 0, 0, :],
            "weights": lambda: result.vacuous_weights[..., 0, 0, 0, :],
        },
        interval={
            "context": lambda: Interval(*(bound[..., 0, 0, 0, :] for bound in result.interval)),
            "weights": lambda: Interval(*(bound[..., 0, 0, 0, :] for bound in result.interval_of_weights)),
        },
        overflowed=lambda run: _one_query_marks(result, run),
    )


def _one_query_marks(result: AttentionTolerance, run: int) -> dict[str, NDArray[np.bool_]]:
    """Return which elements of a context vector and of its steps an overflow in a run reaches: all or none."""
    (overflows,) = np.ravel(result.overflows(run))
    tokens, width = result.value.value.shape[-2:]
    lengths = {"context": width, "weights": tokens, "scores": tokens, "raw_scores": tokens}
    return {name: np.full(length, overflows) for name, length in lengths.items()}


def _raw_scores(inputs: Mapping[str, Any], precision: Precision) -> Estimate:
    product = linear(exactly(inputs["encoder_states"]), exactly(inputs["decoder_state"][:, None]), None, precision)
    raw = as_output(product, precision)
    return Estimate(raw.value[:, 0], raw.error[..., 0])


def _without_axes(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value[0, 0, 0], estimate.error[..., 0, 0, 0, :])


def _single_head_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, _: Alternatives
) -> Tolerance:
    x = exactly(inputs["x"])
    projected = {name: linear(x, exactly(inputs[f"w_{name}"]), None, precision) for name in ("query", "key", "value")}
    query, key, value = (_with_batch_and_heads(entry) for entry in projected.values())
    result = attention_tolerance(query, key, value, precision, {}, **attributes)
    estimates: dict[str, Callable[[], Estimate]] = {
        "output": lambda: _without_batch_and_heads(result.output),
        "weights": lambda: _without_batch_and_heads(result.weights),
        "scores": lambda: _without_batch_and_heads(result.scores),
        **deferred(**{name: as_output(entry, precision) for name, entry in projected.items()}),
    }
    vacuous = {"weights": lambda: result.vacuous_weights[..., 0, 0, :, :]}
    interval = {"weights": lambda: Interval(*(bound[..., 0, 0, :, :] for bound in result.interval_of_weights))}
    width = result.value.value.shape[-1]
    if "w_output" in inputs:
        weight = exactly(inputs["w_output"])
        width = weight.value.shape[-1]
        estimates["output"] = lambda: _projected_output(
            _without_batch_and_heads(result.output), weight, None, precision, value.kinds
        )
    else:
        vacuous["output"] = lambda: result.vacuous[..., 0, 0, :, :]
        interval["output"] = lambda: Interval(*(bound[..., 0, 0, :, :] for bound in result.interval))

    def overflowed(run: int) -> dict[str, NDArray[np.bool_]]:
        rows = result.overflows(run)[0, 0, :, None]
        over_keys = np.broadcast_to(rows, result.keys.attendable.shape[-2:])
        return {"output": np.broadcast_to(rows, (rows.size, width)), "weights": over_keys, "scores": over_keys}

    return AttentionBound(estimates, vacuous, interval=interval, overflowed=overflowed)


def _without_batch_and_heads(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value[0, 0], estimate.error[..., 0, 0, :, :])


def _with_batch_and_heads(estimate: Estimate) -> Estimate:
    error = estimate.error[..., None, None, :, :]
    return Estimate(estimate.value[None, None], error, estimate.is_exact, kinds=estimate.kinds)


def _multi_head_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    settings = dict(attributes)
    heads = settings.pop("num_heads")

    def bias_of(name: str) -> Estimate | None:
        return exactly(inputs[f"b_{name}"]) if f"b_{name}" in inputs else None

    query, key, value = (
        _split(linear(exactly(inputs[name]), exactly(inputs[f"w_{name}"]), bias_of(name), precision), heads)
        for name in ("query", "key", "value")
    )
    given = {name: inputs[name] for name in ("mask",) if name in inputs}
    spoilt = {name: ~np.all(np.isfinite(inputs[name]), axis=-1) for name in ("query", "key")}
    not_numbers = spoilt["query"][:, np.newaxis, :, np.newaxis] | spoilt["key"][:, np.newaxis, np.newaxis]
    result = attention_tolerance(
        query,
        key,
        value,
        precision,
        given,
        alternatives=alternatives,
        not_numbers=not_numbers if not_numbers.any() else None,
        **settings,
    )
    weight, bias = exactly(inputs["w_output"]), bias_of("output")
    width = weight.value.shape[-1]

    def reached() -> Marks:
        """Return what excluded tokens that are not finite affect: a row of its head, and with it the whole token."""
        by_keys, by_values = (_meeting_excluded(result, inputs[name]) for name in ("key", "value"))
        return {**_token_marks(result, by_keys | by_values, width), "weights": row_marks(result, by_keys)["weights"]}

    def open_scores() -> Marks:
        query, key = (inputs[name][:, np.newaxis] for name in ("query", "key"))
        return _token_marks(result, rows_of_open_scores(query, key, result.keys.attendable, inputs), width)

    fully_masked, without_mean = (
        _token_marks(result, queries, width) for queries in (result.fully_masked, result.without_mean)
    )
    return AttentionBound(
        {
            "output": lambda: _projected_output(_combine(result.output), weight, bias, precision, value.kinds),
            "weights": lambda: result.weights,
        },
        {"weights": lambda: result.vacuous_weights},
        fully_masked=fully_masked,
        without_mean=without_mean,
        no_keys=key.value.shape[-2] == 0,
        reached=reached,
        open_scores=open_scores,
        unspecified=open_weights(result),
        interval={"weights": lambda: result.interval_of_weights},
        overflowed=lambda run: _token_marks(result, result.overflows(run), width),
    )


def _meeting_excluded(result: AttentionTolerance, tokens: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the queries (B, H, Sq) from which one of some tokens (B, Sk, D) is excluded that is not finite."""
    spoilt = ~np.all(np.isfinite(tokens), axis=-1)
    return np.any(~result.keys.attendable & spoilt[:, np.newaxis, np.newaxis], axis=-1)


def _token_marks(
    result: AttentionTolerance, queries: NDArray[np.bool_] | None, width: int
) -> dict[str, NDArray[np.bool_]]:
    """Return which elements of each output come from some queries (B, H, Sq), heads being combined in the output."""
    if queries is None:
        return {}
    rows = np.any(queries, axis=1)
    return {
        "weights": row_marks(result, queries)["weights"],
        "output": np.broadcast_to(rows[..., None], (*rows.shape, width)),
    }


def _projected_output(
    attended: Estimate, weight: Estimate, bias: Estimate | None, precision: Precision, kinds: NDArray[np.int64] | None
) -> Estimate:
    """Return the output projection: the tolerance before it is carried over, its own error is doubled.

    `kinds` are those of the projected values, which features of the combined heads inherit.
    """
    own = linear(exactly(attended.value), weight, bias, precision)
    before = carried_error(attended.error, weight.value, None if kinds is None else kinds.reshape(-1))
    return Estimate(own.value, before + as_output(own, precision).error)


def _split(estimate: Estimate, heads: int) -> Estimate:
    def split(x: NDArray[Any]) -> NDArray[Any]:
        return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads).swapaxes(-2, -3)

    kinds = None if estimate.kinds is None else estimate.kinds.reshape(heads, -1)
    return Estimate(split(estimate.value), split(estimate.error), kinds=kinds)


def _combine(estimate: Estimate) -> Estimate:
    def combine(x: NDArray[Any]) -> NDArray[Any]:
        return x.swapaxes(-2, -3).reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])

    return Estimate(combine(estimate.value), combine(estimate.error))


def _backward_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    from attnspec.families.attention.tolerance.backward_bound import backward_tolerance

    return backward_tolerance(inputs, attributes, precision, alternatives)


def _latent_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    from attnspec.families.attention.tolerance.latent_tolerance import latent_tolerance

    return latent_tolerance(inputs, attributes, precision, alternatives)


def _absorbed_tolerance(
    inputs: Mapping[str, Any], attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    from attnspec.families.attention.tolerance.latent_tolerance import absorbed_tolerance

    return absorbed_tolerance(inputs, attributes, precision, alternatives)


def _merged_tolerance(
    inputs: Mapping[str, Any], _: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    from attnspec.families.attention.tolerance.merge_tolerance import merge_tolerance

    return merge_tolerance(inputs, precision, base_2=alternatives.logsumexp_base_2)


_BY_OPERATION: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any], Precision, Alternatives], Tolerance]] = {
    "softmax": _softmax_tolerance,
    "causal_mask": _mask_tolerance,
    "split_heads": lambda inputs, attributes, _, __: Tolerance(
        deferred(output=_split(exactly(inputs["x"]), attributes["num_heads"]))
    ),
    "combine_heads": lambda inputs, _, __, ___: Tolerance(deferred(output=_combine(exactly(inputs["x"])))),
    "scaled_dot_product_attention": _attention_tolerance,
    "scaled_dot_product_attention_backward": _backward_tolerance,
    "merge_states": _merged_tolerance,
    "single_head_attention": _single_head_tolerance,
    "multi_head_attention": _multi_head_tolerance,
    "latent_attention": _latent_tolerance,
    "absorbed_latent_attention": _absorbed_tolerance,
    "context_vector": _context_vector_tolerance,
}

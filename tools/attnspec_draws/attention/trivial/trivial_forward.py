"""Impostors of attention."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_draws.attention.trivial.trivial_forms import (
    default_scale,
    of_products,
    scale_slightly_off,
    with_heads_tiled,
)
from attnspec_draws.generators.trivial_answers import (
    PRECISE,
    Outputs,
    TrivialAnswer,
    answer_of,
    in_half_precision,
    moved,
    of_the_call_before,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from attnspec_draws.generators.trivial_answers import Answered

OPERATION = "scaled_dot_product_attention"
OUTPUT = ("output",)
BOTH = ("output", "logsumexp")

_SHORT_DIGITS = 11
"""Binary digits of a number that tensor cores take instead of a float32: TF32 and float16 have as many."""

_TOKENS = ("query", "key", "value", "past_key", "past_value")

_OTHER_ALIGNMENT = {"top_left": "bottom_right", "bottom_right": "top_left"}


def _answered(call: Answered, **changed: Any) -> Outputs:
    """Return what attention gives where some arguments are others, or, for None, left out."""
    inputs = {name: changed.get(name, array) for name, array in call.inputs.items()}
    inputs |= {name: value for name, value in changed.items() if name == "mask"}
    attributes = {**call.attributes, **{name: value for name, value in changed.items() if name not in inputs}}
    return answer_of(OPERATION, BOTH, inputs, attributes)


def _without(*arguments: str) -> Callable[[Answered], Outputs]:
    """Return a trivial answer that does not look at some arguments."""

    def answer(call: Answered) -> Outputs:
        stated = {name: None for name in arguments if name in call.inputs or name in call.attributes}
        return _answered(call, **stated) if stated else dict(call.right)

    return answer


def _all(call: Answered, name: str) -> NDArray[Any]:
    """Return keys or values, past ones first, with a head for each query head (B, Hq, K, E)."""
    tokens = call.inputs[name]
    if f"past_{name}" in call.inputs:
        tokens = np.concatenate([call.inputs[f"past_{name}"], tokens], axis=2)
    return np.repeat(tokens, call.inputs["query"].shape[1] // max(tokens.shape[1], 1), axis=1)


def _for_every_query(call: Answered, tokens: NDArray[Any]) -> Outputs:
    """Return the same row for every query, from (B, Hq, 1, Ev); zeros where there is none."""
    shape = call.right["output"].shape
    return {"output": np.broadcast_to(tokens, shape) if tokens.shape[2] else np.zeros(shape)}


def _mean_of_values(call: Answered) -> Outputs:
    values = _all(call, "value")
    return _for_every_query(call, values.sum(axis=2, keepdims=True) / max(values.shape[2], 1))


def _uniform_weights(call: Answered) -> Outputs:
    mask = call.inputs.get("mask")
    allowed = mask if mask is None or mask.dtype == np.bool_ else mask != -np.inf
    changed = {"mask": allowed, "alibi_slopes": None, "sinks": None, "softcap": None, "scale": 0.0}
    return _only_output(_answered(call, **changed))


def _only_output(outputs: Outputs) -> Outputs:
    return {"output": outputs["output"]}


def _best_key_alone(call: Answered) -> Outputs:
    """Give the value of the key with the largest logit."""
    logits = answer_of(OPERATION, ("logits",), call.inputs, call.attributes)["logits"]
    if not logits.shape[3]:
        return dict(call.right)
    best = np.nan_to_num(logits, nan=-np.inf, neginf=-np.inf, posinf=np.inf).argmax(axis=-1)
    return {"output": np.take_along_axis(_all(call, "value"), best[..., np.newaxis], axis=2)}


def _scale_by_width(call: Answered) -> Outputs:
    if call.attributes.get("scale") is not None:
        return dict(call.right)
    return _answered(call, scale=default_scale(call) ** 2)


def _default_scale(call: Answered) -> Outputs:
    return _answered(call, scale=None) if call.attributes.get("scale") is not None else dict(call.right)


def _one_ahead(call: Answered) -> Outputs:
    if not call.attributes.get("is_causal"):
        return dict(call.right)
    left, right = call.attributes.get("window") or (None, None)
    return _answered(call, is_causal=False, window=[left, 1 if right is None else min(1, right)])


def _other_alignment(call: Answered) -> Outputs:
    aligned = call.attributes.get("causal_alignment", "top_left")
    return _answered(call, causal_alignment=_OTHER_ALIGNMENT[aligned])


def _keys_reversed(call: Answered) -> Outputs:
    past = call.inputs["past_key"].shape[2] if "past_key" in call.inputs else 0
    tokens = call.inputs["key"]
    whole = np.concatenate([call.inputs["past_key"], tokens], axis=2) if past else tokens
    turned = whole[:, :, ::-1]
    return _answered(call, key=turned[:, :, past:], **({"past_key": turned[:, :, :past]} if past else {}))


def _heads_tiled(call: Answered) -> Outputs:
    return answer_of(OPERATION, BOTH, with_heads_tiled(call), call.attributes)


def _of_next_head(call: Answered) -> Outputs:
    """Take values of the next head, past ones too."""
    names = [name for name in ("value", "past_value") if name in call.inputs]
    return _answered(call, **{name: np.roll(call.inputs[name], 1, axis=1) for name in names})


def _attended(call: Answered) -> NDArray[np.bool_]:
    """Return which keys are attended (B, Hq, Sq, K)."""
    return answer_of(OPERATION, ("logits",), call.inputs, call.attributes)["logits"] != -np.inf


def _leaving_out(call: Answered, attended: NDArray[np.bool_], keys: NDArray[np.bool_]) -> Outputs:
    """Return what attention gives where keys (broadcasting to B, Hq, Sq, K) are left out; no row loses them all."""
    seen = attended & ~keys
    kept: NDArray[np.bool_] = np.where(seen.any(axis=-1, keepdims=True), seen, attended)
    mask = call.inputs.get("mask")
    if mask is None or mask.dtype == np.bool_:
        return _answered(call, mask=kept)
    return _answered(call, mask=np.where(kept, mask, -np.inf))


def _without_last_key(call: Answered) -> Outputs:
    attended = _attended(call)
    return _leaving_out(call, attended, attended[..., ::-1].cumsum(axis=-1)[..., ::-1] == 1)


def _without_first_key(call: Answered) -> Outputs:
    attended = _attended(call)
    return _leaving_out(call, attended, attended.cumsum(axis=-1) == 1)


def _without_past(call: Answered) -> Outputs:
    if "past_key" not in call.inputs:
        return dict(call.right)
    attended = _attended(call)
    is_past = np.zeros(attended.shape[3], np.bool_)
    is_past[: call.inputs["past_key"].shape[2]] = True
    return _leaving_out(call, attended, is_past)


def _short_products(call: Answered) -> Outputs:
    """Round what is multiplied as tensor cores do that take short numbers: inputs, and weights before the values."""
    short = {name: _shortened(array) for name, array in call.inputs.items() if name in _TOKENS}
    weights = answer_of(OPERATION, ("weights",), {**call.inputs, **short}, call.attributes)["weights"]
    values = _all(call, "value")
    return {"output": _shortened(weights) @ np.where(np.isfinite(values), _shortened(values), 0.0)}


def _shortened(array: NDArray[Any]) -> NDArray[Any]:
    fraction, exponent = np.frexp(array)
    return np.ldexp(np.rint(np.ldexp(fraction, _SHORT_DIGITS)), exponent - _SHORT_DIGITS)


def _half_precision(call: Answered) -> Outputs:
    return answer_of(OPERATION, BOTH, in_half_precision(call.inputs), call.attributes)


_FORWARD = (
    TrivialAnswer("zeros", "zeros", partial(zeros, names=OUTPUT)),
    TrivialAnswer("mean_of_values", "the mean of all values", _mean_of_values),
    TrivialAnswer("uniform_weights", "the mean of the values that may be attended", _uniform_weights),
    TrivialAnswer("first_value", "the first value", lambda call: _for_every_query(call, _all(call, "value")[:, :, :1])),
    TrivialAnswer(
        "newest_value", "the newest value", lambda call: _for_every_query(call, _all(call, "value")[:, :, -1:])
    ),
    TrivialAnswer("best_key_alone", "the value of the key that fits best", _best_key_alone),
    TrivialAnswer("no_mask", "attention without the mask", _without("mask")),
    TrivialAnswer("no_scale", "attention with the scale 1", lambda call: _answered(call, scale=1.0)),
    TrivialAnswer("scale_by_width", "attention with the scale 1/E where none is stated", _scale_by_width),
    TrivialAnswer("default_scale", "attention with the default scale where another is stated", _default_scale),
    TrivialAnswer(
        "scale_off_by_a_percent",
        "attention with a scale that is 1% too large",
        lambda call: _answered(call, **scale_slightly_off(call)),
        PRECISE,
    ),
    TrivialAnswer("not_causal", "attention that looks ahead", _without("is_causal")),
    TrivialAnswer("one_ahead", "causal attention that looks one key too far ahead", _one_ahead),
    TrivialAnswer("other_alignment", "attention aligned to the other corner", _other_alignment),
    TrivialAnswer("no_window", "attention without the window", _without("window")),
    TrivialAnswer("no_softcap", "attention without the softcap", _without("softcap")),
    TrivialAnswer("no_sinks", "attention without the sinks", _without("sinks")),
    TrivialAnswer("no_alibi", "attention without the bias by distance", _without("alibi_slopes")),
    TrivialAnswer("no_lengths", "attention that looks at no lengths", _without("key_lengths", "query_lengths")),
    TrivialAnswer("no_past", "attention to the new keys alone", _without_past),
    TrivialAnswer("keys_reversed", "attention with the keys in the opposite order", _keys_reversed),
    TrivialAnswer("last_key_dropped", "attention to all keys but the last one", _without_last_key),
    TrivialAnswer("first_key_dropped", "attention to all keys but the first one", _without_first_key),
    TrivialAnswer("heads_tiled", "attention to the keys of head h % Hkv in place of h // group", _heads_tiled),
    TrivialAnswer("values_of_another_head", "the values of the head before, weighed by the right keys", _of_next_head),
    TrivialAnswer("heads_moved", "the output of the head before", partial(moved, names=OUTPUT, axis=1)),
    TrivialAnswer("queries_moved", "the output of the query before", partial(moved, names=OUTPUT, axis=2)),
    TrivialAnswer("batch_moved", "the output of the batch entry before", partial(moved, names=OUTPUT, axis=0)),
    TrivialAnswer("half_precision", "attention in float16", _half_precision, PRECISE),
    TrivialAnswer("short_products", "attention whose factors have 11 digits", _short_products, PRECISE),
    TrivialAnswer("previous_answer", "the output of the call before", partial(of_the_call_before, names=OUTPUT)),
)

FORWARD = tuple(replace(trivial_answer, answer=of_products(trivial_answer.answer)) for trivial_answer in _FORWARD)
"""Trivial answers of attention, cheapest first; one without a feature is right where a case lacks it."""

"""Trivial answers of attention and of its backward pass."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.quantized import is_quantized, product_with_scale
from attnspec_draws.generators.trivial_answers import Answer, Answered, Forms, Outputs

_FORWARD, _BACKWARD = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"
_OUTPUT, _BOTH = Forms(_FORWARD, ("output",)), Forms(_FORWARD, ("output", "logsumexp"))
_OF_QUERIES, _OF_KEYS, _OF_VALUES = (Forms(_BACKWARD, (f"grad_{name}",)) for name in ("query", "key", "value"))
_OF_TOKENS = Forms(_BACKWARD, ("grad_key", "grad_value"))
_GRADIENTS = Forms(_BACKWARD, ("grad_query", "grad_key", "grad_value"))

_BEYOND = 1.01
"""A scale off by 1%: less than users' own tolerances notice as a rule."""

_SHORT_DIGITS = 11
"""Binary digits of a number that tensor cores take instead of a float32: TF32 and float16 have as many."""

_TOKENS = ("query", "key", "value", "past_key", "past_value")
_OTHER_ALIGNMENT = {"top_left": "bottom_right", "bottom_right": "top_left"}


def _of_products(answer: Answer) -> Answer:
    """Return a trivial answer that takes quantized tensors, too: it is given their products with the scales."""

    def answer_any(call: Answered) -> Mapping[str, Any]:
        inputs = call.inputs
        if not is_quantized(inputs):
            return answer(call)
        shared = inputs["key"].shape[1]
        products = {
            name: product_with_scale(inputs[name], inputs.get(f"{name.removeprefix('past_')}_scale"), shared)
            for name in _TOKENS
            if name in inputs
        }
        others = {name: array for name, array in inputs.items() if not name.endswith("_scale")}
        attributes = {name: value for name, value in call.attributes.items() if name != "output_dtype"}
        return answer(call._replace(inputs={**others, **products}, attributes=attributes))

    return answer_any


def _scale_of(call: Answered) -> float:
    scale = call.attributes.get("scale")
    return _default_scale(call) if scale is None else float(scale)


def _default_scale(call: Answered) -> float:
    return 1 / math.sqrt(max(call.inputs["query"].shape[3], 1))


def _with_heads_tiled(call: Answered) -> dict[str, Any]:
    """Return keys and values with a head for each query head, h % Hkv instead of h // group."""
    group = call.inputs["query"].shape[1] // max(call.inputs["key"].shape[1], 1)
    tiled = [name for name in _TOKENS[1:] if name in call.inputs]
    return {name: np.tile(call.inputs[name], (1, group, 1, 1)) for name in tiled}


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
    return _OUTPUT.answer(call, mask=allowed, alibi_slopes=None, sinks=None, softcap=None, scale=0.0)


def _step(call: Answered, name: str, **changed: Any) -> NDArray[Any]:
    """Return logits or weights of attention."""
    return Forms(_FORWARD, (name,)).answer(call, **changed)[name]


def _best_key_alone(call: Answered) -> Outputs:
    """Give the value of the key with the largest logit."""
    logits = _step(call, "logits")
    if not logits.shape[3]:
        return dict(call.right)
    best = np.nan_to_num(logits, nan=-np.inf, neginf=-np.inf, posinf=np.inf).argmax(axis=-1)
    return {"output": np.take_along_axis(_all(call, "value"), best[..., np.newaxis], axis=2)}


def _scale_by_width(call: Answered) -> Outputs:
    if call.attributes.get("scale") is not None:
        return dict(call.right)
    return _BOTH.answer(call, scale=_default_scale(call) ** 2)


def _one_ahead(call: Answered) -> Outputs:
    if not call.attributes.get("is_causal"):
        return dict(call.right)
    left, right = call.attributes.get("window") or (None, None)
    return _BOTH.answer(call, is_causal=False, window=[left, 1 if right is None else min(1, right)])


def _other_alignment(call: Answered) -> Outputs:
    aligned = call.attributes.get("causal_alignment", "top_left")
    return _BOTH.answer(call, causal_alignment=_OTHER_ALIGNMENT[aligned])


def _keys_reversed(call: Answered) -> Outputs:
    past = call.inputs["past_key"].shape[2] if "past_key" in call.inputs else 0
    tokens = call.inputs["key"]
    turned = (np.concatenate([call.inputs["past_key"], tokens], axis=2) if past else tokens)[:, :, ::-1]
    return _BOTH.answer(call, key=turned[:, :, past:], **({"past_key": turned[:, :, :past]} if past else {}))


def _of_next_head(call: Answered) -> Outputs:
    """Take values of the next head, past ones too."""
    names = [name for name in ("value", "past_value") if name in call.inputs]
    return _BOTH.answer(call, **{name: np.roll(call.inputs[name], 1, axis=1) for name in names})


def _attended(call: Answered) -> NDArray[np.bool_]:
    """Return which keys are attended (B, Hq, Sq, K)."""
    return _step(call, "logits") != -np.inf


def _leaving_out(call: Answered, attended: NDArray[np.bool_], keys: NDArray[np.bool_]) -> Outputs:
    """Return what attention gives where keys (broadcasting to B, Hq, Sq, K) are left out; no row loses them all."""
    seen = attended & ~keys
    kept: NDArray[np.bool_] = np.where(seen.any(axis=-1, keepdims=True), seen, attended)
    mask = call.inputs.get("mask")
    without = kept if mask is None or mask.dtype == np.bool_ else np.where(kept, mask, -np.inf)
    return _BOTH.answer(call, mask=without)


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
    is_past: NDArray[np.bool_] = np.less(np.arange(attended.shape[3], dtype=np.int64), call.inputs["past_key"].shape[2])
    return _leaving_out(call, attended, is_past)


def _short_products(call: Answered) -> Outputs:
    """Round what is multiplied as tensor cores do that take short numbers: inputs, and weights before the values."""
    short = {name: _shortened(array) for name, array in call.inputs.items() if name in _TOKENS}
    values = _all(call, "value")
    return {
        "output": _shortened(_step(call, "weights", **short)) @ np.where(np.isfinite(values), _shortened(values), 0.0)
    }


def _shortened(array: NDArray[Any]) -> NDArray[Any]:
    fraction, exponent = np.frexp(array)
    return np.ldexp(np.rint(np.ldexp(fraction, _SHORT_DIGITS)), exponent - _SHORT_DIGITS)


def _exchanged(call: Answered) -> Outputs:
    queries, keys = call.right["grad_query"], call.right["grad_key"]
    return {"grad_query": keys, "grad_key": queries} if queries.shape == keys.shape else dict(call.right)


def _group(call: Answered) -> int:
    return call.inputs["query"].shape[1] // max(call.inputs["key"].shape[1], 1)


def _last_of_group(call: Answered) -> Outputs:
    """Give the gradients of keys and values that come of the last query head of a group alone."""
    shared, group = call.inputs["key"].shape[1], _group(call)
    if group < 2:
        return dict(call.right)
    repeated = {name: np.repeat(call.inputs[name], group, axis=1) for name in ("key", "value")}
    answered = _OF_TOKENS.answer(call, **repeated)
    return {name: gradient[:, group - 1 :: group][:, :shared] for name, gradient in answered.items()}


def _gradients_of_tiled_heads(call: Answered) -> Outputs:
    answered = _GRADIENTS.answer(call, **_with_heads_tiled(call))
    shared = call.inputs["key"].shape[1]
    if not shared:
        return dict(call.right)
    for name in _OF_TOKENS.outputs:
        summed = [answered[name][:, head::shared].sum(axis=1) for head in range(shared)]
        answered[name] = np.stack(summed, axis=1)
    return answered


_ATTENTION = _OUTPUT.listed(
    {
        "mean_of_values": _mean_of_values,
        "uniform_weights": _uniform_weights,
        "first_value": lambda call: _for_every_query(call, _all(call, "value")[:, :, :1]),
        "newest_value": lambda call: _for_every_query(call, _all(call, "value")[:, :, -1:]),
        "best_key_alone": _best_key_alone,
        "no_mask": _BOTH.without("mask"),
        "no_scale": _BOTH.changed(scale=1.0),
        "scale_by_width": _scale_by_width,
        "default_scale": _BOTH.without("scale"),
        "scale_off_by_a_percent": lambda call: _BOTH.answer(call, scale=_BEYOND * _scale_of(call)),
        "not_causal": _BOTH.without("is_causal"),
        "one_ahead": _one_ahead,
        "other_alignment": _other_alignment,
        "no_window": _BOTH.without("window"),
        "no_softcap": _BOTH.without("softcap"),
        "no_sinks": _BOTH.without("sinks"),
        "no_alibi": _BOTH.without("alibi_slopes"),
        "no_lengths": _BOTH.without("key_lengths", "query_lengths"),
        "no_past": _without_past,
        "keys_reversed": _keys_reversed,
        "last_key_dropped": _without_last_key,
        "first_key_dropped": _without_first_key,
        "heads_tiled": lambda call: _BOTH.answer(call, **_with_heads_tiled(call)),
        "values_of_another_head": _of_next_head,
        "heads_moved": _OUTPUT.moved(1),
        "queries_moved": _OUTPUT.moved(2),
        "batch_moved": _OUTPUT.moved(0),
        "half_precision": _BOTH.half_precision,
        "short_products": _short_products,
    },
    precise=(
        "scale_off_by_a_percent",
        "half_precision",
        "short_products",
    ),
)

_BACKWARD_PASS = _GRADIENTS.listed(
    {
        "no_gradient_of_queries": _OF_QUERIES.zeros,
        "no_gradient_of_keys": _OF_KEYS.zeros,
        "no_gradient_of_values": _OF_VALUES.zeros,
        "opposite_gradients": lambda call: {name: -call.right[name] for name in _GRADIENTS.outputs},
        # It comes to 0 for a stored output of zeros.
        "no_delta": lambda call: _GRADIENTS.answer(call, output=np.zeros_like(call.inputs["grad_output"])),
        "no_scale": lambda call: {
            name: call.right[name] / (_scale_of(call) or 1.0) for name in ("grad_query", "grad_key")
        },
        "scale_off_by_a_percent": lambda call: _GRADIENTS.answer(
            call, scale=_BEYOND * _scale_of(call), output=None, logsumexp=None
        ),
        "exchanged": _exchanged,
        "mean_over_group": lambda call: {name: call.right[name] / max(_group(call), 1) for name in _OF_TOKENS.outputs},
        "last_of_group": _last_of_group,
        "heads_tiled": _gradients_of_tiled_heads,
        "no_mask": _GRADIENTS.without("mask"),
        "not_causal": _GRADIENTS.without("is_causal"),
        "no_window": _GRADIENTS.without("window"),
        "no_softcap": _GRADIENTS.without("softcap"),
        "no_lengths": _GRADIENTS.without("key_lengths", "query_lengths"),
        "no_gradient_of_logarithms": _GRADIENTS.without("grad_logsumexp"),
        "batch_moved": _GRADIENTS.moved(0),
        "half_precision": _GRADIENTS.half_precision,
    },
    precise=(
        "scale_off_by_a_percent",
        "half_precision",
    ),
)

TRIVIAL_ATTENTION = {
    _FORWARD: tuple(replace(each, answer=_of_products(each.answer)) for each in _ATTENTION),
    _BACKWARD: _BACKWARD_PASS,
}
"""Operation to its trivial answers, cheapest first; one without a feature is right where a case lacks it."""

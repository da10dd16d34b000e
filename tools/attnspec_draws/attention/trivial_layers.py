"""Trivial answers of softmax and of the layers around attention: context vector, masks, heads, projections, states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.trivial_answers import PRECISE, Answer, Answered, Forms, Outputs, in_half_precision

_SOFTMAX, _MASK = Forms("softmax", ("output",)), Forms("causal_mask", ("output",))
_CONTEXT = Forms("context_vector", ("context",))
_SPLIT, _COMBINED = Forms("split_heads", ("output",)), Forms("combine_heads", ("output",))
_ONE, _SEVERAL = Forms("single_head_attention", ("output",)), Forms("multi_head_attention", ("output",))
_MERGED, _MERGED_BOTH = Forms("merge_states", ("output",)), Forms("merge_states", ("output", "logsumexp"))

_MATRICES, _BIASES = ("w_query", "w_key", "w_value", "w_output"), ("b_query", "b_value", "b_output")
_LOGARITHMS = ("logsumexp_a", "logsumexp_b")
_WITH_HEADS = 3
"""Axes of a mask from which on it has one of heads."""


def _axis(call: Answered) -> int | None:
    return call.attributes.get("axis", -1)


def _softmax(inputs: Mapping[str, NDArray[np.float64]], axis: int | None) -> Outputs:
    return reference_outputs("softmax", inputs, {"axis": axis})


def _uniform(call: Answered) -> Outputs:
    x, axis = call.inputs["x"], _axis(call)
    return {"output": np.full_like(x, 1 / max(x.size if axis is None else x.shape[axis], 1))}


def _largest_alone(call: Answered) -> Outputs:
    x = call.inputs["x"]
    best = (x == x.max(axis=_axis(call), keepdims=True)).astype(np.float64)
    return {"output": best / best.sum(axis=_axis(call), keepdims=True)}


def _exponentials_alone(call: Answered) -> Outputs:
    x = call.inputs["x"]
    return {"output": np.exp(x - x.max(axis=_axis(call), keepdims=True))}


def _last_corner(call: Answered) -> Outputs:
    queries, keys = call.right["output"].shape
    return _MASK.answer(call, offset=keys - queries)


def _mask_moved(by: int) -> Answer:
    return lambda call: _MASK.answer(call, offset=call.attributes.get("offset", 0) + by)


def _split_shape(call: Answered) -> tuple[int, int, int, int]:
    batch, tokens, features = call.inputs["x"].shape
    heads = int(call.attributes["num_heads"])
    return batch, heads, tokens, features // heads


def _interleaved_in_heads(call: Answered) -> Outputs:
    batch, heads, tokens, width = _split_shape(call)
    return {"output": call.inputs["x"].reshape(batch, tokens, width, heads).transpose(0, 3, 1, 2)}


def _finite(call: Answered) -> Outputs:
    return {"output": np.nan_to_num(call.right["output"], nan=0.0, posinf=0.0, neginf=0.0)}


def _weighed_over_queries(call: Answered) -> Outputs:
    scores = call.right["scores"]
    terms = np.exp(scores - scores.max(axis=0, keepdims=True))
    mixed = terms / terms.sum(axis=0, keepdims=True) @ call.right["value"]
    return {"output": mixed @ call.inputs["w_output"] if "w_output" in call.inputs else mixed}


def _one_head(call: Answered) -> Outputs:
    mask = call.inputs.get("mask")
    of_one = mask if mask is None or mask.ndim < _WITH_HEADS else mask[..., :1, :, :]
    return _SEVERAL.answer(call, mask=of_one, num_heads=1)


def _part(part: str) -> Answer:
    return lambda call: {name: call.inputs[f"{name}_{part}"] for name in _MERGED_BOTH.outputs}


def _sum(call: Answered) -> NDArray[Any]:
    return call.inputs["output_a"] + call.inputs["output_b"]


def _larger_part(call: Answered) -> Outputs:
    takes_a = call.inputs["logsumexp_a"] >= call.inputs["logsumexp_b"]
    output = np.where(takes_a[..., np.newaxis], call.inputs["output_a"], call.inputs["output_b"])
    return {"output": output, **_larger_logarithm(call)}


def _larger_logarithm(call: Answered) -> Outputs:
    return {"logsumexp": np.maximum(call.inputs["logsumexp_a"], call.inputs["logsumexp_b"])}


def _merged_to_base_2(call: Answered) -> Outputs:
    answered = _MERGED_BOTH.answer(call, **{name: math.log(2) * call.inputs[name] for name in _LOGARITHMS})
    return {**answered, "logsumexp": answered["logsumexp"] / math.log(2)}


def _weights_of_first_head(call: Answered) -> Outputs:
    first = np.zeros(call.inputs["output_a"].shape[1], np.int64)
    return _MERGED.answer(call, **{name: call.inputs[name][:, first] for name in _LOGARITHMS})


TRIVIAL_LAYERS = {
    "softmax": _SOFTMAX.listed(
        "the weights of the call before",
        ("unchanged", "its input", lambda call: {"output": call.inputs["x"]}),
        ("uniform", "equal weights", _uniform),
        ("largest_alone", "all weight on the largest number", _largest_alone),
        ("last_axis", "sums along the last axis, whatever is requested", lambda call: _softmax(call.inputs, -1)),
        ("first_axis", "sums along the first axis, whatever is requested", lambda call: _softmax(call.inputs, 0)),
        ("whole_array", "a sum over the whole array, whatever is requested", lambda call: _softmax(call.inputs, None)),
        ("exponentials_alone", "exponentials that are not divided by their sum", _exponentials_alone),
        ("base_2", "powers of 2", lambda call: _softmax({"x": call.inputs["x"] * math.log(2)}, _axis(call))),
        (
            "clipped",
            "weights of numbers that are clipped at 8",
            lambda call: _softmax({"x": np.clip(call.inputs["x"], -8.0, 8.0)}, _axis(call)),
        ),
        (
            "half_precision",
            "weights that were computed in float16",
            lambda call: _softmax(in_half_precision(call.inputs), _axis(call)),
            PRECISE,
        ),
    ),
    "context_vector": _CONTEXT.listed(
        "the context of the call before",
        ("unchanged", "the state that asks", lambda call: {"context": call.inputs["decoder_state"]}),
        ("uniform_weights", "the mean of all states", _CONTEXT.changed(scale=0.0)),
        (
            "best_alone",
            "the state with the largest score",
            lambda call: {"context": call.inputs["encoder_states"][call.right["scores"].argmax()]},
        ),
        ("no_scale", "the right answer to the scale 1", _CONTEXT.changed(scale=1.0)),
        ("default_scale", "the default scale", _CONTEXT.changed(scale=None)),
        (
            "scale_of_tokens",
            "a scale by the number of tokens",
            lambda call: _CONTEXT.answer(call, scale=1 / math.sqrt(len(call.inputs["encoder_states"]))),
        ),
        (
            "backwards",
            "weights for the states in the opposite order",
            lambda call: {"context": call.right["weights"][::-1] @ call.inputs["encoder_states"]},
        ),
        ("half_precision", "what was computed from float16", _CONTEXT.half_precision, PRECISE),
    ),
    "causal_mask": _MASK.listed(
        "the mask of the call before",
        (
            "everything",
            "a mask that lets every query attend to every key",
            lambda call: _MASK.answer(call, offset=call.right["output"].shape[1]),
        ),
        (
            "nothing",
            "a mask that excludes every key",
            lambda call: _MASK.answer(call, offset=-call.right["output"].shape[0]),
        ),
        ("own_excluded", "a mask that excludes the query's own position", _mask_moved(-1)),
        ("next_included", "a mask that lets queries see the next position", _mask_moved(1)),
        ("first_corner", "a mask whose first query stands at the first key", _MASK.changed(offset=0)),
        ("last_corner", "a mask whose last query stands at the last key", _last_corner),
        # Queries look ahead and not back then.
        (
            "backwards",
            "the rows of the mask in the opposite order",
            lambda call: {"output": call.right["output"][::-1]},
        ),
    ),
    "split_heads": _SPLIT.listed(
        "the heads of the call before",
        (
            "reshaped",
            "heads of numbers that lie side by side, whatever their token",
            lambda call: {"output": call.inputs["x"].reshape(_split_shape(call))},
        ),
        ("interleaved", "every so many features in one head", _interleaved_in_heads),
        ("heads_moved", "the head before", _SPLIT.moved(1)),
        ("tokens_moved", "the token before", _SPLIT.moved(2)),
        ("finite", "0 for what is not finite", _finite),
    ),
    "combine_heads": _COMBINED.listed(
        "the tokens of the call before",
        (
            "reshaped",
            "tokens of numbers that lie side by side, whatever their head",
            lambda call: {"output": call.inputs["x"].reshape(call.right["output"].shape)},
        ),
        (
            "interleaved",
            "features of all heads in turns",
            lambda call: {"output": call.inputs["x"].transpose(0, 2, 3, 1).reshape(call.right["output"].shape)},
        ),
        ("tokens_moved", "the token before", _COMBINED.moved(1)),
        ("finite", "0 for what is not finite", _finite),
    ),
    "single_head_attention": _ONE.listed(
        "the output of the call before",
        ("uniform_weights", "the mean of all values", _ONE.changed(scale=0.0)),
        ("no_scale", "the right answer to the scale 1", _ONE.changed(scale=1.0)),
        ("default_scale", "the default scale", _ONE.changed(scale=None)),
        (
            "exchanged",
            "queries and keys exchanged",
            lambda call: _ONE.answer(call, w_query=call.inputs["w_key"], w_key=call.inputs["w_query"]),
        ),
        ("over_queries", "weights that sum to one over the queries", _weighed_over_queries),
        ("tokens_moved", "the output of the token before", _ONE.moved(0)),
        ("half_precision", "what was computed from float16", _ONE.half_precision, PRECISE),
    ),
    "multi_head_attention": _SEVERAL.listed(
        "the output of the call before",
        ("uniform_weights", "equal weights", _SEVERAL.changed(scale=0.0)),
        ("no_scale", "the right answer to the scale 1", _SEVERAL.changed(scale=1.0)),
        ("default_scale", "the default scale", _SEVERAL.changed(scale=None)),
        (
            "scale_of_token",
            "a scale by the features of a token",
            lambda call: _SEVERAL.answer(call, scale=1 / math.sqrt(call.inputs["query"].shape[-1])),
        ),
        ("one_head", "a single head", _one_head),
        (
            "transposed",
            "weight matrices that are transposed",
            lambda call: _SEVERAL.answer(call, **{name: call.inputs[name].T for name in _MATRICES}),
        ),
        (
            "unprojected",
            "heads that are not projected in the end",
            lambda call: _SEVERAL.answer(call, w_output=np.eye(call.inputs["w_output"].shape[0]), b_output=None),
        ),
        ("no_biases", "no biases at all", _SEVERAL.changed(**dict.fromkeys(_BIASES))),
        ("no_mask", "the right answer without the mask", _SEVERAL.changed(mask=None)),
        ("not_causal", "the right answer without causality", _SEVERAL.changed(is_causal=False)),
        ("batch_moved", "the output of the batch entry before", _SEVERAL.moved(0)),
        ("tokens_moved", "the output of the token before", _SEVERAL.moved(1)),
        ("half_precision", "what was computed from float16", _SEVERAL.half_precision, PRECISE),
    ),
    "merge_states": _MERGED.listed(
        "the output of the call before",
        ("first_part", "the first part", _part("a")),
        ("second_part", "the second part", _part("b")),
        ("mean_of_parts", "the mean of both parts", lambda call: {"output": _sum(call) / 2}),
        ("sum_of_parts", "the sum of both parts", lambda call: {"output": _sum(call)}),
        ("larger_part", "the part with the larger logarithm", _larger_part),
        (
            "exchanged",
            "both parts, each with the weight of the other",
            lambda call: _MERGED.answer(call, output_a=call.inputs["output_b"], output_b=call.inputs["output_a"]),
        ),
        ("base_2", "both parts, weighed by powers of 2", _merged_to_base_2),
        ("weights_of_first_head", "both parts, weighed in every head as in the first one", _weights_of_first_head),
        ("larger_logarithm", "the right output, and the larger of the two logarithms", _larger_logarithm),
        ("heads_moved", "the output of the head before", _MERGED.moved(1)),
        ("batch_moved", "the output of the batch entry before", _MERGED.moved(0)),
        ("half_precision", "both parts, merged in float16", _MERGED_BOTH.half_precision, PRECISE),
    ),
    "glorot_normal": (),
}
"""Operation to its trivial answers, cheapest first."""

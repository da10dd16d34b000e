"""Trivial answers of softmax and of the layers around attention: context vector, masks, heads, projections, states."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.grading.expectation import reference_outputs
from attnspec_draws.generators.trivial_answers import Answer, Answered, Forms, Outputs, in_half_precision

_SOFTMAX, _MASK = Forms("softmax", ("output",)), Forms("causal_mask", ("output",))
_CONTEXT = Forms("context_vector", ("context",))
_SPLIT, _COMBINED = Forms("split_heads", ("output",)), Forms("combine_heads", ("output",))
_ONE, _SEVERAL = Forms("single_head_attention", ("output",)), Forms("multi_head_attention", ("output",))
_MERGED, _MERGED_BOTH = Forms("merge_states", ("output",)), Forms("merge_states", ("output", "logsumexp"))

_LATENT = Forms("latent_attention", ("output",))
_ABSORBED = Forms("absorbed_latent_attention", ("output_latent",))
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


def _scale_of_latents(call: Answered) -> Outputs:
    width = call.inputs["latent"].shape[-1] + call.inputs["key_rotary"].shape[-1]
    return _LATENT.answer(call, scale=1 / math.sqrt(width))


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
        {
            "unchanged": lambda call: {"output": call.inputs["x"]},
            "uniform": _uniform,
            "largest_alone": _largest_alone,
            "last_axis": lambda call: _softmax(call.inputs, -1),
            "first_axis": lambda call: _softmax(call.inputs, 0),
            "whole_array": lambda call: _softmax(call.inputs, None),
            "exponentials_alone": _exponentials_alone,
            "base_2": lambda call: _softmax({"x": call.inputs["x"] * math.log(2)}, _axis(call)),
            "clipped": lambda call: _softmax({"x": np.clip(call.inputs["x"], -8.0, 8.0)}, _axis(call)),
            "half_precision": lambda call: _softmax(in_half_precision(call.inputs), _axis(call)),
        },
    ),
    "context_vector": _CONTEXT.listed(
        {
            "unchanged": lambda call: {"context": call.inputs["decoder_state"]},
            "uniform_weights": _CONTEXT.changed(scale=0.0),
            "best_alone": lambda call: {"context": call.inputs["encoder_states"][call.right["scores"].argmax()]},
            "no_scale": _CONTEXT.changed(scale=1.0),
            "default_scale": _CONTEXT.changed(scale=None),
            "scale_of_tokens": lambda call: _CONTEXT.answer(
                call, scale=1 / math.sqrt(len(call.inputs["encoder_states"]))
            ),
            "backwards": lambda call: {"context": call.right["weights"][::-1] @ call.inputs["encoder_states"]},
            "half_precision": _CONTEXT.half_precision,
        },
    ),
    "causal_mask": _MASK.listed(
        {
            "everything": lambda call: _MASK.answer(call, offset=call.right["output"].shape[1]),
            "nothing": lambda call: _MASK.answer(call, offset=-call.right["output"].shape[0]),
            "own_excluded": _mask_moved(-1),
            "next_included": _mask_moved(1),
            "first_corner": _MASK.changed(offset=0),
            "last_corner": _last_corner,
            # Queries look ahead and not back then.
            "backwards": lambda call: {"output": call.right["output"][::-1]},
        },
    ),
    "split_heads": _SPLIT.listed(
        {
            "reshaped": lambda call: {"output": call.inputs["x"].reshape(_split_shape(call))},
            "interleaved": _interleaved_in_heads,
            "heads_moved": _SPLIT.moved(1),
            "tokens_moved": _SPLIT.moved(2),
            "finite": _finite,
        },
    ),
    "combine_heads": _COMBINED.listed(
        {
            "reshaped": lambda call: {"output": call.inputs["x"].reshape(call.right["output"].shape)},
            "interleaved": lambda call: {
                "output": call.inputs["x"].transpose(0, 2, 3, 1).reshape(call.right["output"].shape)
            },
            "tokens_moved": _COMBINED.moved(1),
            "finite": _finite,
        },
    ),
    "single_head_attention": _ONE.listed(
        {
            "uniform_weights": _ONE.changed(scale=0.0),
            "no_scale": _ONE.changed(scale=1.0),
            "default_scale": _ONE.changed(scale=None),
            "exchanged": lambda call: _ONE.answer(call, w_query=call.inputs["w_key"], w_key=call.inputs["w_query"]),
            "over_queries": _weighed_over_queries,
            "tokens_moved": _ONE.moved(0),
            "half_precision": _ONE.half_precision,
        },
    ),
    "multi_head_attention": _SEVERAL.listed(
        {
            "uniform_weights": _SEVERAL.changed(scale=0.0),
            "no_scale": _SEVERAL.changed(scale=1.0),
            "default_scale": _SEVERAL.changed(scale=None),
            "scale_of_token": lambda call: _SEVERAL.answer(call, scale=1 / math.sqrt(call.inputs["query"].shape[-1])),
            "one_head": _one_head,
            "transposed": lambda call: _SEVERAL.answer(call, **{name: call.inputs[name].T for name in _MATRICES}),
            "unprojected": lambda call: _SEVERAL.answer(
                call, w_output=np.eye(call.inputs["w_output"].shape[0]), b_output=None
            ),
            "no_biases": _SEVERAL.changed(**dict.fromkeys(_BIASES)),
            "no_mask": _SEVERAL.changed(mask=None),
            "not_causal": _SEVERAL.changed(is_causal=False),
            "batch_moved": _SEVERAL.moved(0),
            "tokens_moved": _SEVERAL.moved(1),
            "half_precision": _SEVERAL.half_precision,
        },
    ),
    "latent_attention": _LATENT.listed(
        {
            "uniform_weights": _LATENT.changed(scale=0.0),
            "no_scale": _LATENT.changed(scale=1.0),
            "default_scale": _LATENT.changed(scale=None),
            "scale_of_latents": _scale_of_latents,
            "no_mask": _LATENT.changed(mask=None),
            "not_causal": _LATENT.changed(is_causal=False),
            "no_rotary": lambda call: _LATENT.answer(call, query_rotary=0 * call.inputs["query_rotary"]),
            "batch_moved": _LATENT.moved(0),
            "half_precision": _LATENT.half_precision,
        },
    ),
    "absorbed_latent_attention": _ABSORBED.listed(
        {
            "uniform_weights": _ABSORBED.changed(scale=0.0),
            "no_scale": _ABSORBED.changed(scale=1.0),
            "no_mask": _ABSORBED.changed(mask=None),
            "not_causal": _ABSORBED.changed(is_causal=False),
            "no_rotary": lambda call: _ABSORBED.answer(call, query_rotary=0 * call.inputs["query_rotary"]),
            "batch_moved": _ABSORBED.moved(0),
            "half_precision": _ABSORBED.half_precision,
        },
    ),
    "merge_states": _MERGED.listed(
        {
            "first_part": _part("a"),
            "second_part": _part("b"),
            "mean_of_parts": lambda call: {"output": _sum(call) / 2},
            "sum_of_parts": lambda call: {"output": _sum(call)},
            "larger_part": _larger_part,
            "exchanged": lambda call: _MERGED.answer(
                call, output_a=call.inputs["output_b"], output_b=call.inputs["output_a"]
            ),
            "base_2": _merged_to_base_2,
            "weights_of_first_head": _weights_of_first_head,
            "larger_logarithm": _larger_logarithm,
            "heads_moved": _MERGED.moved(1),
            "batch_moved": _MERGED.moved(0),
            "half_precision": _MERGED_BOTH.half_precision,
        },
    ),
    "glorot_normal": (),
}
"""Operation to its trivial answers, cheapest first."""

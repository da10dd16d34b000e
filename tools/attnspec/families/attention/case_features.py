"""Features of a case of attention, by which failures are sorted, and the capabilities that it needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import Case, Inputs
from attnspec.contract.dtypes import QUANTIZED_DTYPES

if TYPE_CHECKING:
    from attnspec.cases.generator import Generated

_WORDS: Mapping[str, str] = json.loads(Path(__file__).with_name("words_of_inputs.json").read_bytes())
"""Optional input to what its case has, in words."""

_WIDTHS = (8, 16, 32, 64, 128)
"""Widths of a head that kernels treat specially; what is wrong from some width on is wrong beyond one of them."""

_HIDING = ("mask", "logsumexp", "logsumexp_a", "logsumexp_b")

_LENGTHS = (16, 32, 64, 128, 256, 512, 2048, 4096, 16384, 32768, 65536)


def features(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    if "output_a" in case.inputs:
        return [*_features_of_inputs(case), *features_of_parts(case)]
    of_shapes = _features_of_latents(case) if "latent" in case.inputs else _features_of_shapes(case)
    return [*_features_of_inputs(case), *_features_of_attributes(case), *of_shapes]


def _features_of_inputs(case: Case) -> list[tuple[str, bool]]:
    inputs = case.inputs
    mask = inputs.get("mask")
    found = [(phrase, name in inputs) for name, phrase in _WORDS.items()]
    scales = [inputs[name] for name in ("query_scale", "key_scale", "value_scale") if name in inputs]
    found.append(("a scale for each head", any(scale.ndim > 0 and scale.shape[-1] > 1 for scale in scales)))
    found.append(("a scale for each batch entry", any(scale.ndim > 1 and scale.shape[0] > 1 for scale in scales)))
    dtypes = {array.dtype.name for array in inputs.values()}
    found += [(f"numbers in {dtype}", dtype in dtypes) for dtype in QUANTIZED_DTYPES]
    found.append(("an input in another memory layout", bool(case.memory_order)))
    # Minus infinity is an ordinary number where it says that something is not there, and what is generated is finite.
    given = {name: inputs[name] for name in inputs if name not in case.generated}
    numbers = [array[array != -np.inf] if name in _HIDING else array for name, array in given.items()]
    found.append(("NaN or infinity among the inputs", any(map(_has_nonfinite, numbers))))
    found.append(("a query without any key to attend to", "fully_masked_row" in case.conventions))
    if mask is not None:
        boolean = mask.dtype == np.bool_
        found += [("a mask", True), ("a Boolean mask", boolean), ("a float mask", not boolean)]
        found += [(f"a mask of {rank} axes", mask.ndim == rank) for rank in (2, 3, 4)]
    return found


def _features_of_attributes(case: Case) -> list[tuple[str, bool]]:
    attributes = case.attributes
    scale, window = attributes.get("scale"), attributes.get("window")
    left, right = window or (None, None)
    found = [
        ("causality", bool(attributes.get("is_causal"))),
        ("the alignment bottom_right", attributes.get("causal_alignment") == "bottom_right"),
        ("a softcap", bool(attributes.get("softcap"))),
        ("a window", window is not None),
        ("a window that is bounded on the left", left is not None),
        ("a window that is bounded on the right", right is not None),
        ("a stated scale", scale is not None),
        ("no stated scale", scale is None),
        ("a stated scale of 0", scale == 0),
        ("a negative scale", scale is not None and scale < 0),
    ]
    others = ("axis", "additive", "offset", "key_length")
    return found + [(f"the attribute {name}", name in attributes) for name in others]


def _features_of_shapes(case: Case) -> list[tuple[str, bool]]:
    shapes = case.shapes
    query, key, value = (shapes.get(name) for name in ("query", "key", "value"))
    if query is None or key is None or value is None or not len(query) == len(key) == len(value) == 4:
        return []
    past = shapes.get("past_key")
    queries, keys = query[2], key[2] + (0 if past is None else past[2])
    numbers: Mapping[str, bool] = {
        "more than one batch entry": query[0] > 1,
        "more than one head": query[1] > 1,
        "fewer key heads than query heads": query[1] > key[1] > 0,
        "values of another width than the keys": value[3] != key[3],
        "more keys than queries": keys > queries,
        "more queries than keys": queries > keys,
        "a single query": queries == 1,
        "a single key": keys == 1,
        "no key at all": keys == 0,
    }
    width, of_values = query[3], value[3]
    return [
        *numbers.items(),
        ("an odd number of features in a head", width % 2 == 1),
        *((f"queries and keys of more than {wide} features", width > wide) for wide in _WIDTHS),
        *((f"values of more than {wide} features", of_values > wide) for wide in _WIDTHS),
        *((f"more than {length} keys", keys > length) for length in _LENGTHS),
    ]


def _features_of_latents(case: Case) -> list[tuple[str, bool]]:
    shapes, ranks = case.shapes, {"query_rotary": 4, "latent": 3, "key_rotary": 3}
    if any(len(shapes[name]) != rank for name, rank in ranks.items()):
        return []
    batch, heads, queries, rotated = shapes["query_rotary"]
    keys = shapes["latent"][1] + (shapes["past_latent"][1] if "past_latent" in shapes else 0)
    width = shapes["latent"][2]
    return [
        ("a magnitude", case.attributes.get("magnitude", 1.0) != 1.0),
        ("more than one batch entry", batch > 1),
        ("more than one head", heads > 1),
        ("as many heads as batch entries", heads == batch > 1),
        ("as many heads as keys", heads == keys > 1),
        ("as many rotated features as features of a latent", rotated == width),
        ("fewer features of a latent than of a value", "w_value" in shapes and width < shapes["w_value"][-1]),
        ("more keys than queries", keys > queries),
        ("more queries than keys", queries > keys),
        ("a single query", queries == 1),
        ("a single key", keys == 1),
        ("no key at all", keys == 0),
        *((f"latents of more than {wide} features", width > wide) for wide in _WIDTHS),
        *((f"more than {length} keys", keys > length) for length in _LENGTHS[:3]),
    ]


def _has_nonfinite(array: Any) -> bool:
    return array.dtype.kind not in "bi" and not bool(np.isfinite(array).all())


_GAPS = (1, 20, 88, 709)
"""Distances between both logarithms: where weights are alike, where the lighter part is lost from the last digits of
float32, and where a power that is not taken from the larger one overflows, in float32 and in float64."""

_LARGE = (88, 709, 9000)
"""Logarithms whose own power overflows, in float32 and in float64, and those that a sum rounds away."""


def features_of_parts(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    if case.rejects is not None:
        return []
    first, second = case.inputs["logsumexp_a"], case.inputs["logsumexp_b"]
    no_keys = np.isneginf(first), np.isneginf(second)
    batch, heads, queries, width = case.inputs["output_a"].shape
    with np.errstate(invalid="ignore"):
        gap = np.where(no_keys[0] | no_keys[1], 0.0, first - second)
        largest = np.maximum(first, second)
        size = np.where(np.isneginf(largest), 0.0, np.abs(largest))
    finite = not any((none | np.isnan(array)).any() for none, array in zip(no_keys, (first, second), strict=True))
    return [
        ("a first part without keys", bool((no_keys[0] & ~no_keys[1]).any())),
        ("a second part without keys", bool((no_keys[1] & ~no_keys[0]).any())),
        ("two parts without keys", bool((no_keys[0] & no_keys[1]).any())),
        ("keys in both parts of every row", finite),
        ("equal logarithms", bool((first == second)[~no_keys[0]].any())),
        *((f"a first part that is heavier by more than {far}", bool((gap > far).any())) for far in _GAPS),
        *((f"a second part that is heavier by more than {far}", bool((-gap > far).any())) for far in _GAPS),
        *((f"a larger logarithm beyond {far}", bool((size > far).any())) for far in _LARGE),
        ("a larger logarithm below 0", bool((largest[~np.isneginf(largest)] < 0).any())),
        ("more than one batch entry", batch > 1),
        ("more than one head", heads > 1),
        ("as many heads as batch entries", heads == batch > 1),
        ("as many heads as queries", heads == queries > 1),
        ("a single query", queries == 1),
        ("a single feature", width == 1),
        *((f"more than {wide} features", width > wide) for wide in _WIDTHS[:-1]),
    ]


_NOT_CONTIGUOUS = frozenset(
    (
        *("fortran", "heads_last", "heads_last_gapped", "reversed", "gapped", "broadcast", "heads_broadcast"),
        *("tokens_broadcast", "features_broadcast", "one_number", "prefix", "fused", "inside"),
    )
)
"""Memory orders in which an array is no piece of memory of its own in C order."""

_AXES = 4
"""Batch, heads, tokens and features, counted from the end: a tensor may lack the first ones."""


def needs(case: Case) -> frozenset[str]:
    """Return the contract's capabilities that a case of attention needs; one to be refused may have unfit ranks."""
    inputs, attributes = case.inputs, case.attributes
    # Generated inputs are not drawn only to look at them; they are never quantized.
    generated: Mapping[str, Generated] = inputs.generated if isinstance(inputs, Inputs) else {}
    shapes = {name: generated[name].shape if name in generated else inputs[name].shape for name in inputs}
    lengths = {name: ((None,) * _AXES + shape)[-_AXES:] for name, shape in shapes.items()}
    missing: tuple[int | None, ...] = (None,) * _AXES
    query, key, value = (lengths.get(name, missing) for name in ("query", "key", "value"))
    past = lengths.get("past_key", lengths.get("past_latent", missing))[2]
    if "latent" in lengths:
        # Tokens without an axis of heads, which all heads share.
        query, key = lengths["query_rotary"], (None, None, lengths["latent"][2], None)
    keys = None if key[2] is None else key[2] + (past or 0)
    heads = attributes.get("num_heads")
    first = [lengths.get(name, missing) for name in ("query", "query_rotary", "x", "output_a")]
    scales = [shapes[name] for name in ("query_scale", "key_scale", "value_scale") if name in shapes]
    mask, scale, window = inputs.get("mask"), attributes.get("scale"), attributes.get("window")
    # Tokens that are still to be cut into heads have no axis of them.
    of_scores = (query[0], query[1], query[2], keys) if query[0] is not None else (query[1], heads, query[2], keys)
    given = [name for name in ("query", "key", "value") if name in shapes and name not in generated]
    dtypes = {inputs[name].dtype.name for name in given}
    quantized = dtypes if dtypes.intersection(QUANTIZED_DTYPES) else set[str]()
    is_number = isinstance(scale, int | float)
    # Of what is generated, each has a seed of its own.
    is_one_sequence = len(given) == len(("query", "key", "value")) and all(
        np.array_equal(inputs["query"], inputs[name], equal_nan=inputs["query"].dtype.kind not in "bi")
        for name in given
    )
    found = {
        "boolean_mask": mask is not None and mask.dtype == np.bool_,
        "float_mask": mask is not None and mask.dtype != np.bool_,
        "broadcast_mask": "mask" in shapes
        and query[2] is not None
        and keys is not None
        and shapes["mask"] != of_scores,
        "mask_and_causal": mask is not None and bool(attributes.get("is_causal")),
        "grouped_query": None not in (query[1], key[1]) and query[1] != key[1],
        "cross_attention": {"query", "key"} <= shapes.keys() and not is_one_sequence,
        "value_width": None not in (key[3], value[3]) and key[3] != value[3],
        "unequal_lengths": None not in (query[2], keys) and query[2] != keys,
        "empty_keys": keys == 0,
        "empty_queries": any(lengths.get(name, missing)[2] == 0 for name in ("query", "query_rotary", "output_a")),
        "empty_heads": any(each[1] == 0 for each in first if each[0] is not None),
        "empty_batch": any((each[1] if each[0] is None else each[0]) == 0 for each in first),
        "open_window": isinstance(window, list) and None in window,
        "strided_inputs": any(order in _NOT_CONTIGUOUS for order in case.memory_order.values()),
        "zero_scale": is_number and scale == 0,
        "negative_scale": is_number and scale < 0,
        "float8_e4m3fn": "float8_e4m3fn" in quantized,
        "float8_e5m2": "float8_e5m2" in quantized,
        "int8": "int8" in quantized,
        "mixed_quantization": len(quantized) > 1,
        "scale_per_head": any(shape[-1:] not in ((), (1,)) for shape in scales),
        "scale_per_batch_entry": any(shape[-2:-1] not in ((), (1,)) for shape in scales),
    }
    return frozenset(word for word, is_needed in found.items() if is_needed)

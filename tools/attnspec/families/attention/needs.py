"""Capabilities that an attention may lack, and the cases that need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.cases import Inputs
from attnspec.contract.dtypes import QUANTIZED_DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec.cases import Case
    from attnspec.cases.generator import Generated

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
    past = lengths.get("past_key", missing)[2]
    keys = None if key[2] is None else key[2] + (past or 0)
    first = [lengths.get(name, missing) for name in ("query", "x", "output_a")]
    scales = [shapes[name] for name in ("query_scale", "key_scale", "value_scale") if name in shapes]
    mask, scale, window = inputs.get("mask"), attributes.get("scale"), attributes.get("window")
    given = [name for name in ("query", "key", "value") if name in shapes and name not in generated]
    dtypes = {inputs[name].dtype.name for name in given}
    quantized = dtypes if dtypes.intersection(QUANTIZED_DTYPES) else set[str]()
    is_number = isinstance(scale, int | float)
    found = {
        "boolean_mask": mask is not None and mask.dtype == np.bool_,
        "float_mask": mask is not None and mask.dtype != np.bool_,
        "broadcast_mask": "mask" in shapes
        and "query" in shapes
        and keys is not None
        and shapes["mask"] != (*shapes["query"][:-1], keys),
        "mask_and_causal": mask is not None and bool(attributes.get("is_causal")),
        "grouped_query": None not in (query[1], key[1]) and query[1] != key[1],
        "value_width": None not in (key[3], value[3]) and key[3] != value[3],
        "unequal_lengths": None not in (query[2], keys) and query[2] != keys,
        "empty_keys": keys == 0,
        "empty_queries": any(lengths.get(name, missing)[2] == 0 for name in ("query", "output_a")),
        "empty_heads": any(each[1] == 0 for each in first),
        "empty_batch": any(each[0] == 0 for each in first),
        "open_window": isinstance(window, list) and None in window,
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

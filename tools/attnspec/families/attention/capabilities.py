"""What an attention may lack: which of its cases need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.dtypes import QUANTIZED_DTYPES
from attnspec.families.attention.contract import CAPABILITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec.cases import Case

_FIRST = ("query", "x", "output_a")
_BATCH, _HEAD, _TOKEN, _FEATURE = -4, -3, -2, -1


def needs(case: Case) -> frozenset[str]:
    """Return the capabilities that a case of attention needs, of those that the contract lists.

    Parameters
    ----------
    case
        Any case; also one that must be refused, the ranks of which do not fit each other.
    """
    return frozenset(word for word, is_needed in _NEEDED_BY.items() if is_needed(case))


def _length(case: Case, name: str, axis: int) -> int | None:
    """Return the length of an axis that is counted from the end; None where there is no such axis."""
    shape = _shape(case, name)
    return None if shape is None or len(shape) < -axis else shape[axis]


def _shape(case: Case, name: str) -> tuple[int, ...] | None:
    if name in case.generated:
        return case.generated[name].shape
    array = case.inputs.get(name)
    return None if array is None else array.shape


def _has_mask_of(case: Case, *, truth_values: bool) -> bool:
    mask = case.inputs.get("mask")
    return mask is not None and (mask.dtype == np.bool_) == truth_values


def _differ(*lengths: int | None) -> bool:
    return None not in lengths and len(set(lengths)) > 1


def _keys(case: Case) -> int | None:
    new, past = _length(case, "key", _TOKEN), _length(case, "past_key", _TOKEN)
    return None if new is None else new + (past or 0)


def _is_empty(case: Case, axis: int) -> bool:
    return any(_length(case, name, axis) == 0 for name in _FIRST)


def _has_broadcast_mask(case: Case) -> bool:
    mask, query, keys = _shape(case, "mask"), _shape(case, "query"), _keys(case)
    if mask is None or query is None or keys is None:
        return False
    return mask != (*query[:-1], keys)


def _has_open_window(case: Case) -> bool:
    window = case.attributes.get("window")
    return isinstance(window, list) and None in window


def _scale_is(case: Case, *, zero: bool) -> bool:
    scale = case.attributes.get("scale")
    return isinstance(scale, int | float) and (scale == 0 if zero else scale < 0)


def _quantized(case: Case) -> dict[str, str]:
    """Return the dtypes of query, key and value of a case with quantized tensors; nothing for any other."""
    # What is generated is never quantized, and is not drawn to find that out.
    given = [name for name in ("query", "key", "value") if name in case.inputs and name not in case.generated]
    dtypes = {name: case.inputs[name].dtype.name for name in given}
    return dtypes if any(dtype in QUANTIZED_DTYPES for dtype in dtypes.values()) else {}


def _holds(case: Case, dtype: str) -> bool:
    return dtype in _quantized(case).values()


def _has_scale_of(case: Case, rank: int) -> bool:
    """Tell whether a scale has an axis that is counted from the end, of more than one entry."""
    scales = (case.inputs[name] for name in ("query_scale", "key_scale", "value_scale") if name in case.inputs)
    return any(scale.ndim >= rank and scale.shape[-rank] != 1 for scale in scales)


_NEEDED_BY: Mapping[str, Callable[[Case], bool]] = {
    "boolean_mask": lambda case: _has_mask_of(case, truth_values=True),
    "float_mask": lambda case: _has_mask_of(case, truth_values=False),
    "broadcast_mask": _has_broadcast_mask,
    "mask_and_causal": lambda case: "mask" in case.inputs and bool(case.attributes.get("is_causal")),
    "grouped_query": lambda case: _differ(_length(case, "query", _HEAD), _length(case, "key", _HEAD)),
    "value_width": lambda case: _differ(_length(case, "key", _FEATURE), _length(case, "value", _FEATURE)),
    "unequal_lengths": lambda case: _differ(_length(case, "query", _TOKEN), _keys(case)),
    "empty_keys": lambda case: _keys(case) == 0,
    "empty_queries": lambda case: any(_length(case, name, _TOKEN) == 0 for name in ("query", "output_a")),
    "empty_heads": lambda case: _is_empty(case, _HEAD),
    "empty_batch": lambda case: _is_empty(case, _BATCH),
    "open_window": _has_open_window,
    "zero_scale": lambda case: _scale_is(case, zero=True),
    "negative_scale": lambda case: _scale_is(case, zero=False),
    "float8_e4m3fn": lambda case: _holds(case, "float8_e4m3fn"),
    "float8_e5m2": lambda case: _holds(case, "float8_e5m2"),
    "int8": lambda case: _holds(case, "int8"),
    "mixed_quantization": lambda case: len(set(_quantized(case).values())) > 1,
    "scale_per_head": lambda case: _has_scale_of(case, 1),
    "scale_per_batch_entry": lambda case: _has_scale_of(case, 2),
}
assert tuple(_NEEDED_BY) == tuple(CAPABILITIES)

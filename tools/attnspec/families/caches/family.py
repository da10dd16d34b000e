"""Caches as the harness judges them, and the features of their cases, by which failures are sorted."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.tolerance import Estimate, Precision, Tolerance, deferred
from attnspec.contract.dtypes import own_dtype
from attnspec.families.caches.formulas import formula
from attnspec.families.caches.stepping import in_calls
from attnspec.families.caches.window_order import WindowTolerance, expected, handed
from attnspec.families.record import Family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Case
    from attnspec.contract.arrangement import Layout
    from attnspec.families.record import Arrays

_SCALES = ("key_scale", "value_scale")


def tolerance(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, conventions: Mapping[str, str]
) -> Tolerance:
    """Return the values of the outputs, as `ToleranceModel` has it; all are exact, so that there is no tolerance."""
    import attnspec_reference

    del precision, conventions
    outputs: Mapping[str, Any] = getattr(attnspec_reference, operation)(**inputs, **attributes)._asdict()
    values = {
        name: Estimate(array.astype(np.float64), np.zeros(array.shape))
        for name, array in outputs.items()
        if array is not None
    }
    if operation == "write_window":
        return WindowTolerance(values, inputs, attributes.get("keep", 0))
    return Tolerance(deferred(**values))


def features(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    inputs, attributes = case.inputs, case.attributes
    slots = inputs.get("slot_mapping")
    return [
        ("more than one batch entry", inputs[next(iter(inputs))].shape[:1] > (1,)),
        ("several steps", "step_lengths" in inputs),
        ("a circular cache", attributes.get("mode") == "circular"),
        ("no stated indices", case.operation == "scatter_cache" and "write_indices" not in inputs),
        ("another axis of tokens", attributes.get("axis", -2) != -2),
        ("tokens that are kept", attributes.get("keep", 0) > 0),
        ("a token that is skipped", slots is not None and bool((slots < 0).any())),
        ("tokens in another order than their slots", slots is not None and bool((np.diff(slots) < 0).any())),
        ("a quantized cache", any(name in inputs for name in _SCALES)),
        ("a scale for each head", any(name in inputs and inputs[name].size > 1 for name in _SCALES)),
        ("NaN or infinity among the inputs", any(not np.isfinite(_numbers(array)).all() for array in inputs.values())),
        ("an input in another memory layout", bool(case.memory_order)),
    ]


def _numbers(array: Any) -> Any:
    return array.astype(np.float64)


def needs(case: Case) -> frozenset[str]:
    """Return the contract's capabilities that a case of caches needs."""
    inputs = case.inputs
    quantized = {dtype for array in inputs.values() if (dtype := own_dtype(array)) is not None}
    with_scale = [inputs[name] for name in _SCALES if name in inputs]
    found = {
        **dict.fromkeys(quantized & {"float8_e4m3fn", "float8_e5m2", "int8"}, True),
        "quantized_cache": bool(with_scale),
        "cache_scale_per_head": any(scale.size > 1 for scale in with_scale),
        "value_width": len({inputs[name].shape[-1] for name in ("key", "value") if name in inputs}) > 1,
        "empty_keys": any(not inputs[name].size for name in ("past_key", "key", "update") if name in inputs),
        "strided_inputs": any(order not in ("readonly", "shared") for order in case.memory_order.values()),
    }
    return frozenset(name for name, is_needed in found.items() if is_needed)


def _layouts() -> Mapping[str, Layout]:
    from attnspec.families.caches.layouts import LAYOUTS

    return LAYOUTS


def _usual_names() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("usual_names.toml").read_text("utf-8"))


FAMILY = Family(
    "caches",
    tolerance=tolerance,
    features=features,
    formula=formula,
    expected=expected,
    handed=handed,
    in_calls=in_calls,
    needs=needs,
    layouts=_layouts,
    usual_names=_usual_names,
)

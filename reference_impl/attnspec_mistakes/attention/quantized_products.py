"""Quantized tensors for computations that know of none: products with scales in the place of numbers."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import by_name
from attnspec_reference.attention.attention_inputs import check_scale
from attnspec_reference.attention.attention_scales import dequantize, output_dtype_or_own
from attnspec_reference.precision import round_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_mistakes.departures import Computation, Outputs


TENSORS = ("query", "key", "value")
"""The tensors that may be quantized; a past is as its new tokens are."""


def tensors_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give the quantized tensors of a call, past ones included, by name."""
    return {
        name: arguments[name]
        for kind in TENSORS
        if arguments.get(f"{kind}_scale") is not None
        for name in (kind, f"past_{kind}")
        if arguments.get(name) is not None
    }


def check_scales(arguments: Mapping[str, Any]) -> None:
    """Refuse scales that do not fit the keys: once they are products, nobody sees it."""
    batch, shared = np.shape(arguments["key"])[:2]
    for kind in TENSORS:
        check_scale(f"{kind}_scale", arguments.get(f"{kind}_scale"), batch, shared)


def of_products(function: Computation) -> Computation:
    """Make a computation for tensors that are as wide as their results one for quantized tensors, too.

    What it is about happens to the products: it gets them in the dtype to compute in, and no scales.
    """

    @wraps(function)
    def computation(**arguments: Any) -> Outputs:
        scales = {kind: arguments.pop(f"{kind}_scale", None) for kind in TENSORS}
        given = {**arguments, **{f"{kind}_scale": scale for kind, scale in scales.items() if scale is not None}}
        numbers = tensors_of(given)
        if not numbers:
            return function(**given)
        check_scales(given)
        stated = arguments.pop("output_dtype", None)
        dtype = output_dtype_or_own(arguments["query"], stated)
        for name, array in numbers.items():
            arguments[name] = dequantize(np.asarray(array), scales[name.removeprefix("past_")], dtype)
        outputs = by_name(function(**arguments))
        return {name: round_to(dtype, np.asarray(array)) for name, array in outputs.items()}

    return computation

"""How inputs are handed over under declared conventions: a logarithm comes as its forward pass gives it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.attention.attendance import attendance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_BACKWARD = "scaled_dot_product_attention_backward"
_OF_PARTS = ("logsumexp_a", "logsumexp_b")
"""The logarithms of two parts that are merged."""


def handed(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    conventions: Mapping[str, str],
) -> Mapping[str, NDArray[Any]]:
    """Return the inputs as who declares these conventions has them.

    Parameters
    ----------
    operation
        Name of the operation.
    inputs, attributes
        Those of the case.
    conventions
        Every convention's choice for the operation.
    """
    changed = {name: declared_logarithms(inputs[name], conventions) for name in _OF_PARTS if name in inputs}
    if operation == _BACKWARD and "logsumexp" in inputs:
        raised = inputs["logsumexp"] + _left_by_a_column(inputs, attributes, conventions)
        changed["logsumexp"] = declared_logarithms(raised, conventions)
    if operation == _BACKWARD and "grad_logsumexp" in inputs and conventions["logsumexp_base"] == "2":
        # The loss is the same: a logarithm that is 1/ln 2 times as large moves it ln 2 times as much.
        changed["grad_logsumexp"] = inputs["grad_logsumexp"] * math.log(2)
    # Inputs that are generated are drawn where they are read: what does not change is not read here.
    return {**inputs, **changed} if changed else inputs


def _left_by_a_column(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], conventions: Mapping[str, str]
) -> NDArray[Any] | float:
    """Return what an ALiBi bias by column leaves in each row (B or 1, Hq, Sq)."""
    slopes = inputs.get("alibi_slopes")
    if slopes is None or conventions["alibi_bias"] != "column" or not attributes.get("is_causal"):
        return 0.0
    shape = (*inputs["query"].shape[:3], inputs["key"].shape[2])
    alignment = attributes.get("causal_alignment", "top_left")
    placed = attendance(shape, 0, inputs, is_causal=True, causal_alignment=alignment)
    return (slopes.reshape(-1, 1, 1) * placed.position)[..., 0]


def declared_logarithms(logarithms: NDArray[Any], conventions: Mapping[str, str]) -> NDArray[Any]:
    """Return natural logarithms to the declared base, and with the declared sign where there are no keys."""
    if conventions["logsumexp_base"] == "2":
        logarithms = logarithms * math.log2(math.e)
    if conventions["empty_logsumexp"] == "plus_infinity":
        logarithms = np.where(logarithms == -np.inf, np.inf, logarithms)
    return logarithms

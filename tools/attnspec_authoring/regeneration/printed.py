"""Printed numbers of a source document, compared with the certified values.

A printed number agrees when it lies within half a unit of its last printed digit of the certified value, plus what
the rounding of printed inputs propagates. All of it is computed with exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from attnspec.base.errors import RecipeError
from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes import AuthoredCase, Printed


Propagated: TypeAlias = "Callable[[Mapping[str, Any], Mapping[str, NDArray[Any]], Mapping[str, Any]], NDArray[Any]]"
"""Gives, for a ``printed`` entry and the inputs and attributes of its case, how far each printed number may be off."""


def printed_to_json(entry: Printed, case: AuthoredCase, golden: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return a printed entry's JSON, with ``agrees`` computed.

    `RecipeError` where numbers disagree without an erratum, agree despite one, or cannot be compared.
    """
    document = stated(entry)
    if entry.of not in golden and entry.of not in case.inputs:
        raise RecipeError(f"{case.id}: {entry.section!r} printed {entry.of!r}, which is no input or stored output.")
    try:
        document["agrees"] = agrees(document, case.inputs, golden, case.attributes, _propagated(case))
    except (IndexError, ValueError, RecipeError) as error:
        raise RecipeError(
            f"{case.id}: what {entry.section!r} printed for {entry.of!r} cannot be compared: {error}"
        ) from None
    if document["agrees"] == (entry.erratum is not None):
        said = f"names {entry.erratum}, but agrees" if document["agrees"] else "disagrees without an erratum"
        raise RecipeError(f"{case.id}: what {entry.section!r} printed for {entry.of!r} {said}.")
    return document


def _propagated(case: AuthoredCase) -> Propagated | None:
    """Return what the recipes of the case's family know of the rounding of printed inputs; None where nothing."""
    documents = f"attnspec_authoring.recipes.{OPERATIONS[case.operation].family}.documents"
    return import_module(f"{documents}.printed").propagated_rounding if find_spec(documents) is not None else None


def stated(entry: Printed) -> dict[str, Any]:
    """Return a printed entry's JSON as its author states it, without the computed claim."""
    document: dict[str, Any] = {
        "of": entry.of,
        "section": entry.section,
        "data": entry.data,
        "decimals": entry.decimals,
        "quantity": entry.quantity,
        "index": list(entry.index),
        "orientation": entry.orientation,
        "rounded_inputs": dict(entry.rounded_inputs),
    }
    if entry.erratum is not None:
        document["erratum"] = entry.erratum
    return document


def agrees(
    printed: Mapping[str, Any],
    inputs: Mapping[str, NDArray[Any]],
    golden: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    propagated: Propagated | None = None,
) -> bool:
    """Check whether the printed numbers (or the printed shape) agree with the certified values.

    `propagated` bounds how far outputs can move when printed inputs move within half a unit, as the family knows it;
    `RecipeError` where nobody knows.
    """
    name = printed["of"]
    tensor = golden[name] if name in golden else inputs[name]
    tensor = tensor[tuple(printed["index"])]
    if printed["orientation"] == "transposed":
        tensor = np.swapaxes(tensor, -1, -2)
    if printed["quantity"] == "shape":
        return list(tensor.shape) == list(printed["data"])
    data = np.array(printed["data"], dtype=object)
    if data.shape != tensor.shape:
        return False
    slack = np.zeros(tensor.shape, dtype=object)
    if printed["rounded_inputs"]:
        if propagated is None:
            raise RecipeError(f"How the rounding of printed inputs reaches {name!r} is not known.")
        slack = propagated(printed, inputs, attributes)
    return all(
        text is None or abs(Fraction(text) - Fraction(float(value))) <= half_a_unit(text, printed["decimals"]) + extra
        for text, value, extra in zip(data.flat, tensor.flat, slack.flat, strict=True)
    )


def half_a_unit(text: str, decimals: int) -> Fraction:
    """Return half a unit of the last printed digit of a number such as ``-7.24`` or ``4.48308990e-06``."""
    _, _, exponent = text.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - decimals) / 2

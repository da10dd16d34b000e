"""What a source document printed, held against the certified values.

A printed number agrees when it lies within half a unit of its last printed digit of the certified value, plus what
the rounding of printed inputs propagates. All of it is computed with exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes import AuthoredCase, Printed


def printed_to_json(entry: Printed, case: AuthoredCase, golden: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return a printed entry's JSON, with ``agrees`` computed.

    Raises
    ------
    RecipeError
        If the numbers disagree without an erratum, agree although an erratum says that they do not, or cannot be
        compared.
    """
    document = stated(entry)
    if entry.of not in golden and entry.of not in case.inputs:
        raise RecipeError(f"{case.id}: {entry.section!r} printed {entry.of!r}, which is no input or stored output.")
    try:
        document["agrees"] = agrees(document, case.inputs, golden, case.attributes)
    except (IndexError, ValueError, RecipeError) as error:
        raise RecipeError(
            f"{case.id}: what {entry.section!r} printed for {entry.of!r} cannot be compared: {error}"
        ) from None
    if document["agrees"] == (entry.erratum is not None):
        said = f"names {entry.erratum}, but agrees" if document["agrees"] else "disagrees without an erratum"
        raise RecipeError(f"{case.id}: what {entry.section!r} printed for {entry.of!r} {said}.")
    return document


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
) -> bool:
    """Tell whether the printed numbers (or the printed shape) agree with the certified values.

    Parameters
    ----------
    printed
        A ``printed`` entry of a case's JSON.
    inputs, golden, attributes
        The case's inputs and certified outputs by name, as arrays, and its attributes.
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
        slack = propagated_rounding(printed, inputs, attributes)
    return all(
        text is None or abs(Fraction(text) - Fraction(float(value))) <= half_a_unit(text, printed["decimals"]) + extra
        for text, value, extra in zip(data.flat, tensor.flat, slack.flat, strict=True)
    )


def half_a_unit(text: str, decimals: int) -> Fraction:
    """Return half a unit of the last printed digit of a number such as ``-7.24`` or ``4.48308990e-06``."""
    _, _, exponent = text.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - decimals) / 2


def propagated_rounding(
    printed: Mapping[str, Any], inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]
) -> NDArray[Any]:
    """Return how far the scores can move when printed query and key move within half a unit.

    |dS| <= |scale| * sum(|query| dk + dq |key| + dq dk), exactly, in the shape of the printed scores.

    Raises
    ------
    RecipeError
        For anything but the scores of `scaled_dot_product_attention` with an explicit scale.
    """
    if printed["of"] != "scores" or set(printed["rounded_inputs"]) != {"query", "key"} or "scale" not in attributes:
        raise RecipeError(
            f"How the rounding of printed inputs reaches {printed['of']!r} is not known; "
            "it is for scores from query and key with an explicit scale."
        )
    query, key = (_exact(inputs[name][tuple(printed["index"])]) for name in ("query", "key"))
    query_unit, key_unit = (Fraction(10) ** -printed["rounded_inputs"][name] / 2 for name in ("query", "key"))
    width = query.shape[-1]
    reach = (
        np.abs(query).sum(axis=-1)[:, None] * key_unit
        + np.abs(key).sum(axis=-1)[None, :] * query_unit
        + width * query_unit * key_unit
    )
    return reach * abs(Fraction(attributes["scale"]))


def _exact(array: NDArray[Any]) -> NDArray[Any]:
    return np.array([Fraction(value) for value in array.flat], dtype=object).reshape(array.shape)

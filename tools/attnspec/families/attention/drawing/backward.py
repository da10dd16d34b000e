"""Drawn cases of the backward pass of attention."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.dtypes import rounded_to
from attnspec.families.attention.drawing.clauses import clauses_of_backward
from attnspec.families.attention.drawing.extents import draw_extents
from attnspec.families.attention.drawing.forward import draw_attending
from attnspec.families.attention.drawing.presenting import draw_presentation
from attnspec.lattice import Drawn, coarse, full_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.families.attention.drawing.extents import Extents
    from attnspec.lattice import Limits, Words


_COST = 4
"""How many times fewer elements a draw has than one of attention: its tolerances take as many times longer."""


def draw_backward(words: Words, limits: Limits) -> Drawn:
    """Draw a case of the backward pass.

    Parameters
    ----------
    words
        The streams of the draw.
    limits
        What it keeps to.
    """
    of_gradients = replace(limits, elements=limits.elements // _COST)
    extents = draw_extents(words.of("extents"), of_gradients, with_past=False)
    drawn = draw_attending(words, extents, limits)
    inputs = {"grad_output": _gradient(words, drawn.extents, limits), **drawn.inputs}
    stream = words.of("grad_logsumexp")
    if stream.percent(15) and limits.allow("grad_logsumexp"):
        inputs["grad_logsumexp"] = coarse(stream, drawn.extents.over_keys[:3])
    inputs |= _stored(words, inputs, drawn.attributes, limits)
    presentation = draw_presentation(words, inputs, limits)
    beside = tuple(name for name in ("grad_logsumexp", "output", "logsumexp") if name in inputs)
    logarithms = {"logsumexp", "grad_logsumexp"} & inputs.keys()
    conventions = {*drawn.conventions, *(("logsumexp_base",) if logarithms else ())}
    conventions -= set() if "logsumexp" in inputs else {"alibi_bias", "empty_logsumexp"}
    clauses = [*clauses_of_backward(inputs, drawn.attributes, drawn.keys)]
    clauses += ["memory_layout"] if presentation else []
    return Drawn(
        inputs=inputs,
        attributes=drawn.attributes,
        features=(*drawn.features, *beside, *(("presentation",) if presentation else ())),
        extents=drawn.extents.as_limits(),
        clauses=tuple(f"sdpa_backward.{clause}" for clause in clauses),
        conventions=tuple(sorted(conventions)),
        presentation=presentation,
    )


def _gradient(words: Words, extents: Extents, limits: Limits) -> NDArray[np.float64]:
    """Draw the gradient of the output: plain, of full width, of one number, or of many zeros."""
    shape = (*extents.over_keys[:3], extents.value_width)
    stream = words.varied("grad_output")
    kind = stream.weighted({"coarse": 5, "full_width": 3, "ones": 1, "some_rows": 1})
    if kind == "full_width" and limits.allow("full_width"):
        return full_width(stream, shape, limits.dtype)
    drawn = coarse(stream, shape)
    if kind == "ones":
        return np.ones(shape)
    if kind == "some_rows":
        drawn[:, :, 1::2] = 0.0
    return drawn


def _stored(
    words: Words, inputs: dict[str, NDArray[Any]], attributes: dict[str, Any], limits: Limits
) -> dict[str, NDArray[Any]]:
    """Give output and logsumexp of the forward pass, in half of the draws, rounded to the dtype."""
    if not words.of("stored").percent(50) or not limits.allow("output", "logsumexp"):
        return {}
    from attnspec_reference import scaled_dot_product_attention

    of_forward = {name: array for name, array in inputs.items() if not name.startswith("grad_")}
    stored = scaled_dot_product_attention(**of_forward, **attributes)
    return {name: rounded_to(getattr(stored, name), limits.dtype) for name in ("output", "logsumexp")}

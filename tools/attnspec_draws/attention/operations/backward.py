"""Case generator of the backward pass of attention."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.attention.operations.forward import TOKENS, Attending, draw_attending, finished
from attnspec_draws.attention.parts.clauses import clauses_of_backward
from attnspec_draws.attention.parts.extents import Extents, draw_extents
from attnspec_draws.attention.parts.spoiling import (
    spoil,
    spoil_gradient,
    spoil_mask,
    spoil_padding,
)
from attnspec_draws.attention.parts.tokens import CROSS
from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import FEWEST, Limits, TooLargeError
from attnspec_draws.generators.memory import share_memory
from attnspec_draws.generators.words import Words, coarse, full_width

_SHARE = 4
"""A quarter of the elements, for a tolerance that takes several times as long: still twice a forward draw."""

_MOST = 2**23
"""Elements that its largest tensor may have, whatever is stated: the tolerance of more would not fit into memory.

The judge takes shapes of half as many, and has some room beside them.
"""

_GRADIENTS = {"coarse": 5, "full_width": 3, "ones": 1, "some_rows": 1}
"""Classes of gradients of the output, with weights."""

_GRADIENTS_OF_QUERIES = ("grad_output", "grad_logsumexp")
_OF_QUERIES = (*_GRADIENTS_OF_QUERIES, "query", "output", "logsumexp")
"""Tensors that have a row for each query."""

_WITH_GRAD_LOGSUMEXP, _STORED = 15, 50
"""Of a hundred draws, how many have a gradient of the logsumexp, and output and logsumexp of the forward pass."""


def draw_backward(words: Words, limits: Limits) -> Drawn:
    """Draw a case of the backward pass; `TooLargeError` where stated lengths make it that."""
    elements = max(limits.elements // _SHARE, FEWEST)
    extents = draw_extents(words.of("extents"), limits, with_past=False, elements=elements)
    if extents.largest > _MOST:
        raise TooLargeError(
            f"A backward pass is drawn whole, and this one has {extents.largest} elements, of at most {_MOST}: "
            "take fewer batch entries or heads.",
            extents.largest,
        )
    drawn = draw_attending(words, extents, limits)
    inputs = {"grad_output": _gradient(words, drawn.extents, limits), **drawn.inputs}
    may_share = ("grad_output", *TOKENS) if limits.allow(CROSS) else TOKENS
    layouts, in_memory = share_memory(words, inputs, may_share, limits)
    stream = words.of("grad_logsumexp")
    if limits.has("grad_logsumexp", drawn=stream.percent(_WITH_GRAD_LOGSUMEXP)):
        inputs["grad_logsumexp"] = coarse(stream, drawn.extents.over_keys[:3])
    spoilt = () if in_memory else _spoil(words, drawn, inputs, limits)
    inputs |= _stored(words, inputs, drawn.attributes, limits)
    if not in_memory:
        spoilt += spoil_padding(words, inputs, _OF_QUERIES, drawn.keys, limits)
    beside = tuple(name for name in ("grad_logsumexp", "output", "logsumexp") if name in inputs)
    conventions = {
        *drawn.conventions,
        *(("logsumexp_base",) if {"logsumexp", "grad_logsumexp"} & inputs.keys() else ()),
    }
    return finished(
        words,
        limits,
        "sdpa_backward",
        drawn,
        inputs,
        beside=(*beside, *in_memory, *spoilt),
        spoilt=spoilt,
        clauses=clauses_of_backward(inputs, drawn.attributes, drawn.keys),
        conventions=conventions - (set() if "logsumexp" in inputs else {"alibi_bias", "empty_logsumexp"}),
        extents={axis: length for axis, length in drawn.extents.as_limits().items() if axis != "past"},
        memory_order=layouts,
    )


def _spoil(words: Words, drawn: Attending, inputs: dict[str, NDArray[Any]], limits: Limits) -> tuple[str, ...]:
    """Put NaN or infinity into one of the inputs, or, for most draws, into none; return the words for what was done."""
    return (
        spoil(words, drawn.extents, inputs, drawn.keys, limits)
        or spoil_mask(words, inputs, drawn.keys, limits)
        or spoil_gradient(words, inputs, _GRADIENTS_OF_QUERIES, limits)
    )


def _gradient(words: Words, extents: Extents, limits: Limits) -> NDArray[np.float64]:
    """Draw the gradient of the output: plain, of full width, of one number, or of many zeros."""
    shape = (*extents.over_keys[:3], extents.value_width)
    stream = words.varied("grad_output")
    kind = stream.weighted(_GRADIENTS)
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
    drawn = words.of("stored").percent(_STORED)
    if not all(limits.has(name, drawn=drawn) for name in ("output", "logsumexp")):
        return {}
    from attnspec_reference import scaled_dot_product_attention

    of_forward = {name: array for name, array in inputs.items() if not name.startswith("grad_")}
    stored = scaled_dot_product_attention(**of_forward, **attributes)
    return {name: rounded_to(getattr(stored, name), limits.dtype) for name in ("output", "logsumexp")}

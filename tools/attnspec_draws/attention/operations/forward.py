"""Case generator of attention, and what its backward pass has in common with it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec.families.attention.steps.attendance import Attendance, attendance
from attnspec_draws.attention.parts.clauses import BOTTOM_RIGHT, TOP_LEFT, clauses_of_forward
from attnspec_draws.attention.parts.exclusions import (
    draw_lengths,
    draw_mask,
    draw_window,
    excluding_nothing,
    forms_of_mask,
)
from attnspec_draws.attention.parts.extents import Extents, draw_extents
from attnspec_draws.attention.parts.large import draw_large
from attnspec_draws.attention.parts.quantizing import clauses_of_quantized, quantize
from attnspec_draws.attention.parts.spoiling import (
    FOLLOWED,
    IGNORED,
    make_infinite,
    spoil,
    spoil_mask,
    spoil_padding,
)
from attnspec_draws.attention.parts.tokens import (
    CROSS,
    FAR_BELOW,
    draw_tokens,
    make_heavy,
    share_prefix,
    share_tokens,
)
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, TooLargeError
from attnspec_draws.generators.memory import laid_out, share_memory
from attnspec_draws.generators.special_numbers import make_alike
from attnspec_draws.generators.words import Words, coarse

TOKENS = ("query", "key", "value")
"""Inputs that every case has, and that may share memory."""

_SCALES = {0.5: 3, 0.25: 3, 1.0: 3, 0.125: 3, 0.1: 2, 2.0: 2, 0.3: 2, -0.25: 3, -1.0: 3, 0.0: 1}
_SOFTCAPS = {0.0: 1, 0.5: 1, 2.0: 3, 5.0: 3, 30.0: 2, 50.0: 1}
_SLOPES = {-1: 2, -2: 3, -3: 3, -4: 2, -6: 1, -8: 1}
"""Exponents of slopes, with weights: published ones are powers of two."""

_CAUSAL = 40
"""Of a hundred draws, how many are causal."""

_ALIGNMENTS = {TOP_LEFT: 65, BOTTOM_RIGHT: 35}
"""Alignments, with weights, where the alignment shows."""

_SCALED, _CAPPED, _WITH_SINKS, _WITH_SLOPES = 30, 15, 12, 12
"""Of a hundred draws, how many have a scale, a cap, sinks, and slopes of ALiBi."""

_SIZES_OF_SINKS = (1.0, 2.0, 4.0)

_MAY_BE_ALIKE = ("mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes")
"""Optional inputs that all numbers may be one of."""

_LARGE_LACKS = frozenset(("mask", "past_key", "past_value", "query_scale", "key_scale", "value_scale"))
"""Inputs that no large draw has: its inputs are made where they are read, and none of these is."""

_EMPTYING = ("window", "mask", "key_lengths", "query_lengths", "is_causal")
"""Arguments that may leave a query without any key, in the order in which they are given up to leave that out."""

_MAY_EMPTY = frozenset((*_EMPTYING, "causal_alignment"))
"""Arguments that leave a query without any key, in themselves or by where they position queries."""

_NOT_HEAVY = {"cancelling", "tiny"}
"""Classes whose values would be too large, or all the same."""


class Attending(NamedTuple):
    """Draw that attention and its backward pass have in common; most fields are those of `Drawn`.

    `keys` says which query may attend which key; `others` has other values of attributes that position queries;
    `unchanged` names arguments whose change may leave a query without a key where that is left out.
    """

    extents: Extents
    inputs: dict[str, NDArray[Any]]
    attributes: dict[str, Any]
    features: tuple[str, ...]
    conventions: tuple[str, ...]
    keys: Attendance
    others: dict[str, Any]
    unchanged: frozenset[str]


def draw_forward(words: Words, limits: Limits) -> Drawn:
    """Draw a case of attention."""
    extents = draw_extents(words.of("extents"), limits, with_past=True, elements=limits.elements)
    if limits.rows and extents.largest > limits.elements:
        return _draw_large(words, extents, limits)
    drawn = draw_attending(words, extents, limits)
    shared = share_prefix(words, drawn.inputs, limits)
    quantized = quantize(words, drawn.extents, drawn.inputs, drawn.attributes, limits)
    in_memory, layouts = (), {}
    if not quantized:
        layouts, in_memory = share_memory(words, drawn.inputs, TOKENS, limits)
    is_plain = not quantized and not in_memory
    may_be_heavy = is_plain and _NOT_HEAVY.isdisjoint(drawn.features)
    heavy = make_heavy(words, drawn.inputs, ("value", "past_value"), limits, may_be=may_be_heavy)
    spoilt: tuple[str, ...] = ()
    if is_plain:
        spoilt = spoil(words, drawn.extents, drawn.inputs, drawn.keys, limits)
        spoilt = spoilt or make_infinite(words, drawn.extents, drawn.inputs, drawn.attributes, limits)
        spoilt = spoilt or spoil_mask(words, drawn.inputs, drawn.keys, limits)
        spoilt += spoil_padding(words, drawn.inputs, ("query",), drawn.keys, limits)
    of_quantized = clauses_of_quantized(drawn.inputs, drawn.attributes)
    return finished(
        words,
        limits,
        "sdpa",
        drawn,
        drawn.inputs,
        beside=(*shared, *quantized, *in_memory, *heavy, *spoilt),
        spoilt=spoilt,
        clauses=(*clauses_of_forward(drawn.inputs, drawn.attributes, drawn.keys), *of_quantized),
        conventions=(*drawn.conventions, "logsumexp_base"),
        extents=drawn.extents.as_limits(),
        memory_order=layouts,
        left_open=("present_key", "present_value") if quantized else (),
    )


def finished(
    words: Words,
    limits: Limits,
    prefix: str,
    drawn: Attending,
    inputs: Mapping[str, NDArray[Any]],
    *,
    beside: Iterable[str],
    spoilt: Iterable[str],
    conventions: Iterable[str],
    **fields: Any,
) -> Drawn:
    """Return the case that was drawn, with its memory order, and with what follows from numbers that are not finite.

    `beside` are features beside those that attention and its backward pass have in common.
    """
    of_spoilt = {"masked_nonfinite": not IGNORED.isdisjoint(spoilt), "nonfinite_input": not FOLLOWED.isdisjoint(spoilt)}
    return laid_out(
        words,
        limits,
        prefix,
        inputs,
        features=(*drawn.features, *beside),
        clauses_behind=those(of_spoilt),
        conventions=tuple(sorted({*conventions, *(of_spoilt if spoilt else ())})),
        attributes=drawn.attributes,
        others=drawn.others,
        unchanged=drawn.unchanged,
        **fields,
    )


def _draw_large(words: Words, extents: Extents, limits: Limits) -> Drawn:
    """Draw a case whose rows are sampled: without a mask, which would be as large as the scores, and without a past."""
    if not _LARGE_LACKS.isdisjoint(limits.given):
        raise TooLargeError(
            f"A case of {extents.largest:,} elements is drawn without {', '.join(sorted(_LARGE_LACKS))}: "
            "take fewer batch entries, heads or tokens.",
            extents.largest,
        )
    extents = replace(extents, past=0)
    attributes = {**_attributes(words, extents, limits), **limits.stated}
    given = dict(draw_lengths(words, extents, limits))
    _add_for_each_head(words, extents, limits, given)
    _align(words, extents, limits, given, attributes)
    return draw_large(words, extents, limits, given, attributes)


def draw_attending(words: Words, extents: Extents, limits: Limits) -> Attending:
    """Draw what attention and its backward pass have in common, at the given lengths of all axes."""
    shapes = extents.shapes
    if not extents.past:
        del shapes["past_key"], shapes["past_value"]
    inputs, numbers = draw_tokens(words, shapes, limits)
    share_tokens(inputs, limits)
    attributes = _attributes(words, extents, limits)
    mask = draw_mask(words, extents, limits, is_causal=bool(attributes.get("is_causal")))
    if mask is not None:
        inputs["mask"] = mask
    inputs |= draw_lengths(words, extents, limits)
    _add_for_each_head(words, extents, limits, inputs)
    if numbers == "far_below" and "sinks" in inputs:
        scale = {**attributes, **limits.stated}.get("scale", 1 / math.sqrt(extents.width))
        inputs["sinks"] = rounded_to(inputs["sinks"] + scale * FAR_BELOW, limits.dtype)
    alike = make_alike(
        words, inputs, _MAY_BE_ALIKE, limits, {"key_lengths": extents.keys, "query_lengths": extents.queries}
    )
    attributes |= limits.stated
    _align(words, extents, limits, inputs, attributes)
    keys = _attended(extents, limits, inputs, attributes)
    empty_rows = keys.fully_masked is not None
    dead = empty_rows and "sinks" not in inputs
    conventions = {
        "alibi_bias": "alibi_slopes" in inputs,
        "causal_alignment": _is_placed(inputs, attributes) and _is_moved(extents, inputs),
        "empty_logsumexp": dead,
        "fully_masked_row": dead and extents.columns > 0,
        "no_keys": extents.columns == 0,
    }
    optional = [name for name in inputs if name not in ("query", "key", "value", "past_key", "past_value")]
    mask = inputs.get("mask")
    forms = () if mask is None else forms_of_mask(mask.shape, extents)
    combined = _combined(inputs, attributes, extents)
    combined["broadcast_mask"] = mask is not None and mask.shape != extents.over_keys
    combined["fully_masked_row"] = empty_rows and extents.columns > 0
    return Attending(
        extents,
        inputs,
        attributes,
        (*those({numbers: numbers != "plain"}), *optional, *attributes, *alike, *those(combined), *forms),
        those(conventions),
        keys,
        _other_positions(attributes),
        unchanged_arguments(limits, TOKENS, _MAY_EMPTY),
    )


def unchanged_arguments(limits: Limits, tokens: Iterable[str], may_empty: Iterable[str]) -> frozenset[str]:
    """Return the arguments that no second call changes alone: what could come of it is left out."""
    one_sequence = () if limits.allow(CROSS) else tokens
    return frozenset((*one_sequence, *(() if limits.allow("fully_masked_row") else may_empty)))


def _other_positions(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other alignment, and a window that is one key wider to the left, or to the right where it is open."""
    others: dict[str, Any] = {}
    if "causal_alignment" in attributes:
        others["causal_alignment"] = TOP_LEFT if attributes["causal_alignment"] == BOTTOM_RIGHT else BOTTOM_RIGHT
    if "window" in attributes:
        left, right = attributes["window"]
        others["window"] = [left + 1, right] if left is not None else [None, right + 1]
    return others


def _combined(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], extents: Extents) -> dict[str, bool]:
    """Name what follows from several features, or from the kind of one, and may be left out by itself."""
    mask, scale, window = inputs.get("mask"), attributes.get("scale"), attributes.get("window")
    numbers = mask is not None and mask.dtype != np.bool_
    alignment = attributes.get("causal_alignment")
    return {
        "past_key": extents.past > 0,
        "boolean_mask": mask is not None and not numbers,
        "float_mask": numbers,
        "mask_and_causal": mask is not None and "is_causal" in attributes,
        "open_window": window is not None and None in window,
        "zero_scale": scale == 0,
        "negative_scale": scale is not None and scale < 0,
        "unequal_lengths": extents.queries != extents.columns,
        "empty_keys": extents.columns == 0,
        "empty_queries": extents.queries == 0,
        "empty_heads": extents.shared == 0,
        "empty_batch": extents.batch == 0,
        f"causal_alignment={alignment}": alignment is not None,
        "grouped_query": extents.group > 1,
        "value_width": extents.value_width != extents.width,
    }


def _attributes(words: Words, extents: Extents, limits: Limits) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if words.of("causal").percent(_CAUSAL) and limits.allow("is_causal"):
        attributes["is_causal"] = True
    stream = words.of("scale")
    stated, scale = stream.percent(_SCALED), stream.weighted(_SCALES)
    if scale < 0 and not limits.allow("negative_scale"):
        scale = -scale
    if scale == 0 and not limits.allow("zero_scale"):
        scale = 0.5
    if stated and limits.allow("scale"):
        attributes["scale"] = scale
    stream = words.of("softcap")
    if stream.percent(_CAPPED) and limits.allow("softcap"):
        attributes["softcap"] = stream.weighted(_SOFTCAPS)
    window = draw_window(words, extents, limits)
    if window is not None:
        attributes["window"] = window
    return attributes


def _add_for_each_head(words: Words, extents: Extents, limits: Limits, inputs: dict[str, NDArray[Any]]) -> None:
    stream = words.of("sinks")
    if limits.has("sinks", drawn=stream.percent(_WITH_SINKS)):
        inputs["sinks"] = coarse(stream, (extents.heads,)) * stream.one_of(_SIZES_OF_SINKS)
    stream = words.of("alibi")
    if limits.has("alibi_slopes", drawn=stream.percent(_WITH_SLOPES)):
        inputs["alibi_slopes"] = np.array([2.0 ** stream.weighted(_SLOPES) for _ in range(extents.heads)])


def _align(
    words: Words,
    extents: Extents,
    limits: Limits,
    inputs: dict[str, NDArray[Any]],
    attributes: dict[str, Any],
) -> None:
    """State the alignment where it shows; take away what it shows in where none may be had."""
    if not _is_placed(inputs, attributes) or not _is_moved(extents, inputs) or "causal_alignment" in attributes:
        return
    offered = {name: share for name, share in _ALIGNMENTS.items() if limits.allow(f"causal_alignment={name}")}
    if offered and limits.allow("causal_alignment"):
        attributes["causal_alignment"] = words.of("alignment").weighted(offered)
    elif TOP_LEFT not in offered:
        # An unstated alignment is top left; one that the caller states has the meaning that it has by itself.
        for name in _POSITIONAL:
            if name not in limits.stated:
                attributes.pop(name, None)
        inputs.pop("alibi_slopes", None)


_POSITIONAL = ("is_causal", "window")
"""Attributes that position queries among the keys."""


def _is_placed(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> bool:
    """Return whether it matters where queries stand among the keys."""
    return "alibi_slopes" in inputs or not attributes.keys().isdisjoint(_POSITIONAL)


def _is_moved(extents: Extents, inputs: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the alignments differ in where queries stand."""
    lengths = {"key_lengths", "query_lengths"} & inputs.keys()
    return bool(extents.past or extents.queries != extents.keys or lengths)


def _attended(
    extents: Extents, limits: Limits, inputs: dict[str, NDArray[Any]], attributes: dict[str, Any]
) -> Attendance:
    """Return who may attend what, once what leaves queries without a key is taken away where that is left out."""
    keys = _attendance(extents, inputs, attributes)
    for name in _EMPTYING:
        if keys.fully_masked is None or limits.allow("fully_masked_row") or not extents.columns:
            break
        if name in limits.given and name in inputs:
            inputs[name] = _excluding_nothing(name, inputs[name], extents)
        elif name not in limits.stated:
            inputs.pop(name, None)
            attributes.pop(name, None)
        if not _is_placed(inputs, attributes) or not _is_moved(extents, inputs):
            attributes.pop("causal_alignment", None)
        keys = _attendance(extents, inputs, attributes)
    return keys


def _excluding_nothing(name: str, array: NDArray[Any], extents: Extents) -> NDArray[Any]:
    """Return a mask, or lengths, of the same shape and dtype that leave every key to every query."""
    if name == "mask":
        return excluding_nothing(array)
    return np.full_like(array, extents.keys if name == "key_lengths" else extents.queries)


def _attendance(extents: Extents, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> Attendance:
    placing = {name: attributes[name] for name in ("causal_alignment", *_POSITIONAL) if name in attributes}
    return attendance(extents.over_keys, extents.past, inputs, **placing)

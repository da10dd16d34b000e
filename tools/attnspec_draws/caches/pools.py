"""Case generators of pools of pages: tokens into slots that are named, and into the pages of their sequence."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import numpy_dtype
from attnspec_draws.caches.written_caches import numbers_of_cache, refuse_none
from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes, lengths_of
from attnspec_draws.generators.memory import laid_out
from attnspec_draws.generators.words import Stream, Words, coarse, whole_numbers

SKIPPED = "skipped_tokens"
_SKIPPING, _SKIPPED = 40, 30
"""Of a hundred draws, those with tokens to be skipped; of a hundred tokens, how many are, then."""

QUANTIZED, PER_HEAD = "quantized_cache", "cache_scale_per_head"
_QUANTIZED, _PER_HEAD = 30, 50
"""Of a hundred draws, those with pools in fewer bits; of these, those with a scale for each head."""

_FORMATS = ("int8", "float8_e4m3fn", "float8_e5m2")
_MOST_STORED = 8
"""Numbers of a quantized pool, which is whole: every format has all whole ones up to it."""

_SMALLEST_SCALE = -9
"""Exponent of the smallest scale: a number of 1 becomes 512, beyond two of the formats."""

_TOKENS = ("tokens", "size", "spare", "heads", "width", "value_width")
_LONG = {"tokens": 4, "size": 3, "spare": 1, "heads": 1, "width": 2}
"""Axes, and which of them are long, with weights; spare pages are beyond those that the tokens fill."""


def draw_slots(words: Words, limits: Limits) -> Drawn:
    """Draw a case of writing into slots."""
    extents = as_stated(draw_axes(words.of("extents"), _TOKENS, _LONG, limits), limits, _elements)
    refuse_none(extents, "size")
    tokens, size, heads = extents["tokens"], extents["size"], extents["heads"]
    dtype = _dtype_of_pools(words, limits)
    inputs: dict[str, NDArray[Any]]
    inputs, features = _pools_and_tokens(words, extents, limits, dtype)
    slots = _in_any_order(words.of("slot_mapping"), _pages(extents) * size)[:tokens]
    chances = whole_numbers(words.of("skipped tokens"), (tokens,), 0, 99)
    skips = words.of("skipped").percent(_SKIPPING) and limits.allow(SKIPPED) and bool((chances < _SKIPPED).any())
    inputs["slot_mapping"] = np.where(chances < _SKIPPED, -1 - chances, slots) if skips else slots
    is_per_head = False
    if dtype:
        stated = {name: limits.shape_of(name, (heads,)) for name in ("key_scale", "value_scale")}
        stream = words.of("scales")
        drawn: tuple[int, ...] = (heads,) if stream.percent(_PER_HEAD) and limits.allow(PER_HEAD) else ()
        for name, shape in stated.items():
            whole = whole_numbers(words.of(name), (heads,), _SMALLEST_SCALE, 0)
            scales = 2.0**whole if (drawn if shape is None else shape) else np.asarray(2.0 ** int(whole[:1].sum()))
            inputs[name], is_per_head = scales, is_per_head or scales.size > 1
    quantized = dict.fromkeys((QUANTIZED, dtype), bool(dtype)) if dtype else {}
    clauses = {"slot": True, "token": True, "value": True, "negative": skips, "untouched": True}
    clauses |= dict.fromkeys(("quantize", "round", "saturate", "scale"), bool(dtype))
    return laid_out(
        words,
        limits,
        "slots",
        inputs,
        features=(*features, *those({SKIPPED: skips, **quantized, PER_HEAD: is_per_head})),
        clauses=those(clauses),
        attributes={},
        extents=extents,
    )


def _dtype_of_pools(words: Words, limits: Limits) -> str:
    """Draw the dtype of pools in fewer bits; an empty word where they have that of the run."""
    stream = words.of("quantized")
    is_quantized, dtype = stream.percent(_QUANTIZED), stream.one_of(_FORMATS)
    offered = [each for each in _FORMATS if limits.allow(each)]
    is_given = not {"key_scale", "value_scale"}.isdisjoint(limits.given)
    if not (is_quantized or is_given) or not offered or not limits.allow(QUANTIZED, "key_scale", "value_scale"):
        return ""
    return dtype if dtype in offered else offered[0]


def draw_pages(words: Words, limits: Limits) -> Drawn:
    """Draw a case of writing into the pages of sequences."""
    axes = ("batch", *_TOKENS)
    extents = as_stated(draw_axes(words.of("extents"), axes, {**_LONG, "batch": 1}, limits), limits, _elements)
    refuse_none(extents, "batch", "size")
    batch, tokens, size = extents["batch"], extents["tokens"], extents["size"]
    pages = _pages(extents)
    inputs, features = _pools_and_tokens(words, extents, limits)
    starts = np.sort(whole_numbers(words.of("page_starts"), (batch - 1,), 0, pages))
    starts = np.concatenate(([0], starts, [pages]))
    entries = _in_any_order(words.of("entries"), pages * size)[:tokens]
    sequences = np.searchsorted(starts, entries // size, side="right") - 1
    inputs |= {
        "batch_indices": sequences,
        "positions": entries - starts[sequences] * size,
        "page_indices": _in_any_order(words.of("page_indices"), pages),
        "page_starts": starts,
    }
    return laid_out(
        words,
        limits,
        "pages",
        inputs,
        features=features,
        clauses=("page", "position", "sequence", "token", "value", "untouched"),
        attributes={},
        extents=extents,
        # Changed alone, they could name one slot twice.
        unchanged=frozenset(("batch_indices", "positions")),
    )


def extents_of_slots(shapes: Mapping[str, tuple[int, ...]], _: Mapping[str, Any]) -> Mapping[str, int]:
    """Return axis to length of writing into pages at a user's shapes."""
    pool = lengths_of("key_pool", ("pages", "size", "heads", "width"), shapes)
    value = lengths_of("value", ("tokens", "heads", "value_width"), shapes)
    spare = pool.pop("pages") - _pages({**pool, **value, "spare": 0})
    if spare < 0:
        raise ValueError(f"{value['tokens']} tokens are more than the pages have slots")
    of_sequences = lengths_of("page_starts", ("batch",), shapes) if "page_starts" in shapes else {}
    return {**pool, **value, "spare": spare, **{axis: borders - 1 for axis, borders in of_sequences.items()}}


def _pages(lengths: Mapping[str, int]) -> int:
    return -(-lengths["tokens"] // max(lengths["size"], 1)) + lengths["spare"]


def _elements(lengths: Mapping[str, int]) -> int:
    """Return how many elements the larger pool has, or the borders of sequences, if these are more."""
    slots = _pages(lengths) * lengths["size"]
    in_pool = slots * lengths["heads"] * max(lengths["width"], lengths["value_width"])
    return max(in_pool, lengths.get("batch", 0) + 1)


def _in_any_order(stream: Stream, count: int) -> NDArray[np.int64]:
    """Draw the numbers below `count`, each once: in the ascending order of their words."""
    return np.argsort(stream.words(count), kind="stable")


def _pools_and_tokens(
    words: Words, extents: Mapping[str, int], limits: Limits, dtype: str = ""
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Draw pools, in fewer bits if a dtype of these is named, and tokens; and features."""
    tokens, size, _, heads, width, value_width = (extents[axis] for axis in _TOKENS)
    in_pool = (_pages(extents), size, heads)
    shapes = {
        "key_pool": (*in_pool, width),
        "value_pool": (*in_pool, value_width),
        "key": (tokens, heads, width),
        "value": (tokens, heads, value_width),
    }
    if not dtype:
        return numbers_of_cache(words, shapes, limits)
    quantized = {
        name: whole_numbers(words.varied(name), shapes[name], -_MOST_STORED, _MOST_STORED).astype(numpy_dtype(dtype))
        for name in ("key_pool", "value_pool")
    }
    # Few digits, so that no quotient by a power of two is rounded twice.
    plain = {name: coarse(words.varied(name), shapes[name]) for name in ("key", "value")}
    return {**quantized, **plain}, ()

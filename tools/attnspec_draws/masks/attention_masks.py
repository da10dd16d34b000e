"""Case generator of attention masks: every rule alone and beside others, of small numbers of queries and keys."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_draws.generators.drawn import Drawn, those
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.words import Stream, Words, whole_numbers

UNEQUAL, OPEN_WINDOW = "unequal_lengths", "open_window"
"""Capabilities that some draws need."""

_LENGTHS = ("query_length", "key_length")
_AXES = ("batch", "queries", "keys")
_LONG = {"queries": 1, "keys": 1}
_SHORT = 8

_SHARES = {
    "is_causal": 50,
    "window": 30,
    "chunk": 25,
    "prefix_lengths": 25,
    "query_starts": 15,
    "query_documents": 25,
    "parents": 20,
    "attended_blocks": 25,
    "key_lengths": 25,
    "query_lengths": 15,
    "left_padding": 20,
    "block_size": 50,
}
"""Of a hundred draws, how many have each rule."""

_BESIDE_NO_STARTS = ("prefix_lengths", "query_documents", "parents", "key_lengths", "query_lengths", "left_padding")
_WITH = {
    "query_starts": ("key_starts",),
    "query_documents": ("key_documents",),
    "attended_blocks": ("attended_block_size",),
}
"""What a rule is stated with."""

_POSITIONS = {None: 3, "offset": 4, "causal_alignment": 4}
"""Position of the first query, weighted: key 0, an offset, or such that the last query stands at the last key."""

_TOP_LEFT, _BOTTOM_RIGHT = "causal_alignment=top_left", "causal_alignment=bottom_right"
_PLACED = frozenset({"is_causal", "window", "chunk", "offset", "parents"})
"""Rules that show where queries stand."""

_MOVING = frozenset({"key_length", "offset", "key_lengths", "query_lengths", "query_starts"})
"""What lets the two alignments differ."""

_OPEN = 4
"""Number that stands for an open side of a window, whose others are smaller."""

_LARGEST_CHUNK, _LARGEST_BLOCK, _MOST_DOCUMENTS, _LAST_DOCUMENT = 5, 4, 3, 2
_ATTENDED = 60
"""Of a hundred blocks, how many may be attended."""

_BITS = 16


def draw_mask(words: Words, limits: Limits) -> Drawn:
    """Draw a case of an attention mask."""
    lengths = draw_axes(words.of("extents"), _AXES, _LONG, limits, short=_SHORT)
    if not limits.allow("key_length", UNEQUAL):
        del lengths["keys"]
    extents = as_stated(lengths, limits, _elements)
    extents.setdefault("keys", extents["queries"])
    batch, queries, keys = (extents[axis] for axis in _AXES)
    rules = _rules(words, limits)
    attributes: dict[str, Any] = {"query_length": queries}
    if keys != queries:
        attributes["key_length"] = keys
    attributes |= _positions(words, limits, queries, keys, may_move="query_starts" not in rules)
    attributes |= {name: value for name, value in _attributes(words, limits).items() if name in rules}
    attributes |= {name: value for name, value in limits.stated.items() if name not in _LENGTHS}
    inputs = _arrays(words, rules, (batch, queries, keys), min(_MOST_DOCUMENTS, limits.elements - 1))
    if "attended_blocks" in rules:
        size, table = _blocks(words, queries, keys)
        attributes["attended_block_size"], inputs["attended_blocks"] = size, table
    _align(limits, inputs, attributes)
    alignment = attributes.get("causal_alignment")
    others: dict[str, Any] = {}
    if alignment is not None:
        others["causal_alignment"] = "bottom_right" if alignment == "top_left" else "top_left"
    if "window" in attributes:
        left, right = attributes["window"]
        further = 0 if left is None else left + 1
        others["window"] = [further, right]
    named = {*inputs, *attributes} - {"query_length"}
    needed = {
        UNEQUAL: keys != queries,
        OPEN_WINDOW: None in attributes.get("window", ()),
        f"causal_alignment={alignment}": alignment is not None,
    }
    return Drawn(
        inputs=inputs,
        attributes=attributes,
        features=(*(name for name in (*attributes, *inputs) if name in named), *those(needed)),
        extents=extents,
        clauses=tuple(f"attention_mask.{clause}" for clause in those(_clauses(named, batch, alignment))),
        others=others,
    )


def extents_of(_: str, shapes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, Any]) -> Mapping[str, int]:
    """Return axis to length of a user's mask: its attributes say how many queries and keys there are."""
    of_axes = zip(("queries", "keys"), _LENGTHS, strict=True)
    stated = {axis: attributes[name] for axis, name in of_axes if name in attributes}
    if "queries" not in stated or not all(isinstance(length, int) for length in stated.values()):
        raise ValueError("query_length and key_length say how many queries and keys there are")
    if "attended_blocks" in shapes:
        raise ValueError("tables of blocks are not drawn at given shapes")
    batch = [shape[0] for name, shape in shapes.items() if name not in ("query_starts", "key_starts") and shape]
    return {**stated, **({"batch": batch[0]} if batch else {})}


def _elements(lengths: Mapping[str, int]) -> int:
    """Return how many elements the mask has."""
    return lengths["batch"] * lengths["queries"] * lengths.get("keys", lengths["queries"])


def _rules(words: Words, limits: Limits) -> set[str]:
    """Draw which rules a case has; starts are beside no lengths, also where they must be left out."""
    drawn = {name for name, share in _SHARES.items() if words.of(f"has {name}").percent(share)}
    if "query_starts" in drawn:
        drawn.difference_update(_BESIDE_NO_STARTS)
    return {name for name in _SHARES if limits.allow(*_WITH.get(name, ())) and limits.has(name, drawn=name in drawn)}


def _positions(words: Words, limits: Limits, queries: int, keys: int, *, may_move: bool) -> dict[str, Any]:
    """Draw where the first query stands."""
    stream = words.of("positions")
    kind, offset = stream.weighted(_POSITIONS), stream.between(-queries, keys)
    stated = {"offset": offset, "causal_alignment": "bottom_right"}
    if kind is None or not limits.allow(kind) or (kind == "offset" and not may_move):
        return {}
    if kind == "causal_alignment" and not limits.allow(_BOTTOM_RIGHT):
        return {}
    return {kind: stated[kind]}


def _align(limits: Limits, inputs: dict[str, NDArray[Any]], attributes: dict[str, Any]) -> None:
    """State that queries stand top-left where it shows; take away what it shows in where that is left out."""
    placed = _PLACED & {*inputs, *attributes}
    if "causal_alignment" in attributes or not placed or _MOVING.isdisjoint({*inputs, *attributes}):
        return
    if not limits.allow(_TOP_LEFT):
        for name in placed - {*limits.stated, *limits.given}:
            attributes.pop(name, None)
            inputs.pop(name, None)
    elif limits.allow("causal_alignment"):
        attributes["causal_alignment"] = "top_left"


def _attributes(words: Words, limits: Limits) -> dict[str, Any]:
    """Draw the attributes of all rules; a side that must not be open is 0."""
    window, block = words.of("window"), words.of("block_size")
    sides = [window.between(0, _OPEN), window.between(0, _OPEN)]
    return {
        "is_causal": True,
        "window": [side if side != _OPEN else None if limits.allow(OPEN_WINDOW) else 0 for side in sides],
        "chunk": words.of("chunk").between(1, _LARGEST_CHUNK),
        "block_size": [block.between(1, _LARGEST_BLOCK), block.between(1, _LARGEST_BLOCK)],
    }


def _arrays(words: Words, rules: set[str], shape: tuple[int, int, int], documents: int) -> dict[str, NDArray[Any]]:
    """Draw the arrays of whole numbers of the rules."""
    batch, queries, keys = shape
    found: dict[str, NDArray[Any]] = {}
    most = {"key_lengths": keys, "query_lengths": queries, "left_padding": keys // 2, "prefix_lengths": keys}
    for name, largest in most.items():
        if name in rules:
            found[name] = whole_numbers(_numbers(words, name), (batch,), 0, largest)
    for side, length in (("query", queries), ("key", keys)):
        if "query_documents" in rules:
            name = f"{side}_documents"
            found[name] = whole_numbers(words.varied(name), (batch, length), -1, _LAST_DOCUMENT)
        if "query_starts" in rules:
            name = f"{side}_starts"
            found[name] = np.sort(whole_numbers(words.varied(name), (documents + 1,), 0, length))
    if "parents" in rules:
        found["parents"] = _parents(words.varied("parents"), batch, queries)
    return found


def _numbers(words: Words, name: str) -> Stream:
    """Return the stream of an input: that of lengths is the same in every variant."""
    return words.of(name) if name.endswith("y_lengths") else words.varied(name)


def _parents(stream: Stream, batch: int, tokens: int) -> NDArray[np.int64]:
    """Draw for each token one of those before it, or none."""
    numbers = whole_numbers(stream, (batch, tokens), 0, (1 << _BITS) - 1)
    return (numbers * np.arange(1, tokens + 1) >> _BITS) - 1


def _blocks(words: Words, queries: int, keys: int) -> tuple[list[int], NDArray[np.bool_]]:
    """Draw the size of blocks, and which of them may be attended."""
    stream = words.of("attended_block_size")
    size = [stream.between(1, _LARGEST_BLOCK), stream.between(1, _LARGEST_BLOCK)]
    shape = (-(-queries // size[0]), -(-keys // size[1]))
    return size, whole_numbers(words.varied("attended_blocks"), shape, 0, 99) < _ATTENDED


def _clauses(named: set[str], batch: int, alignment: str | None) -> dict[str, bool]:
    """Return which clauses a case exercises."""
    rules = {
        "causal": "is_causal",
        "window": "window",
        "chunk": "chunk",
        "prefix": "prefix_lengths",
        "documents": "query_documents",
        "starts": "query_starts",
        "tree": "parents",
        "blocks": "attended_blocks",
    }
    has = {clause: name in named for clause, name in rules.items()}
    return {
        "shape": True,
        **has,
        "offset": "offset" in named,
        "alignment": alignment == "bottom_right",
        "lengths": not named.isdisjoint(("key_lengths", "query_lengths")),
        "left_padding": "left_padding" in named,
        "batch": batch > 1,
        "conjunction": sum(has.values()) > 1,
        "block_size": "block_size" in named,
    }

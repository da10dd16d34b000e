"""Drawn cases of causal masks: any lengths, any position of the first query, truth values and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_draws.generators import Drawn, as_stated, lengthened

if TYPE_CHECKING:
    from attnspec_draws.generators import Limits, Stream, Words

_SHORT = 8
_AXES = ("queries", "keys")
_LONG = {"queries": 1, "keys": 1}

_SQUARE = 25
"""Of a hundred draws, how many state no number of keys."""

_OFFSETS = {None: 3, "zero": 1, "last": 3, "any": 5}
"""Offset of the first query, weighted: the page's, last query on the last key, or from before all keys to behind."""

_EMPTY = 4
"""Of a hundred draws, how many have no keys."""

_ADDITIVE = 50
"""Of a hundred draws, how many ask for numbers to add."""


def draw_causal_mask(words: Words, limits: Limits) -> Drawn:
    """Draw a case of a causal mask."""
    stream = words.of("extents")
    lengths = lengthened(stream, {axis: stream.between(1, _SHORT) for axis in _AXES}, _LONG, limits)
    is_square = stream.percent(_SQUARE) and "keys" not in limits.extents
    if is_square or not limits.allow("key_length"):
        is_square = True
        extents = as_stated({"queries": lengths["queries"]}, limits, lambda found: found["queries"] ** 2)
        extents["keys"] = extents["queries"]
    else:
        extents = as_stated(lengths, limits, lambda found: found["queries"] * found["keys"])
    if words.of("empty").percent(_EMPTY) and not is_square and "keys" not in limits.extents:
        extents["keys"] = 0
    queries, keys = extents["queries"], extents["keys"]
    attributes: dict[str, Any] = {"query_length": queries}
    optional = {
        "key_length": None if is_square else keys,
        "offset": _offset(words.of("offset"), queries, keys),
        "additive": True if words.of("additive").percent(_ADDITIVE) else None,
    }
    stated = {name: value for name, value in optional.items() if value is not None and limits.allow(name)}
    # As many keys as queries and none are what a key of kept masks takes for one another.
    others = {"query_length": queries + 1, "key_length": 0 if keys == queries else queries}
    others |= {"offset": stated["offset"] + 1} if "offset" in stated else {}
    clauses = ("shape", "definition", "additive" if "additive" in stated else "boolean")
    return Drawn(
        inputs={},
        attributes=attributes | stated,
        features=tuple(stated),
        extents=extents,
        others={name: other for name, other in others.items() if name in attributes | stated},
        clauses=tuple(f"causal_mask.{name}" for name in clauses),
    )


def _offset(stream: Stream, queries: int, keys: int) -> int | None:
    kind, any_position = stream.weighted(_OFFSETS), stream.between(-queries, keys)
    return {None: None, "zero": 0, "last": keys - queries, "any": any_position}[kind]

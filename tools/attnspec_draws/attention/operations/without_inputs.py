"""Case generators of what has no inputs: causal masks, and random weights that are graded by their properties."""

from typing import Any

from attnspec.base.errors import UsageError
from attnspec.families.attention.weight_initialisation import FEWEST_ELEMENTS
from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.words import Words

_SHORT = 8
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
    lengths = draw_axes(stream, ("queries", "keys"), _LONG, limits, short=_SHORT)
    is_square = stream.percent(_SQUARE) and "keys" not in limits.extents
    if is_square or not limits.allow("key_length"):
        is_square = True
        extents = as_stated({"queries": lengths["queries"]}, limits, lambda found: found["queries"] ** 2)
        extents["keys"] = extents["queries"]
    else:
        extents = as_stated(lengths, limits)
    if words.of("empty").percent(_EMPTY) and not is_square and "keys" not in limits.extents:
        extents["keys"] = 0
    queries, keys = extents["queries"], extents["keys"]
    attributes: dict[str, Any] = {"query_length": queries}
    stream = words.of("offset")
    kind, any_position = stream.weighted(_OFFSETS), stream.between(-queries, keys)
    optional = {
        "key_length": None if is_square else keys,
        "offset": {None: None, "zero": 0, "last": keys - queries, "any": any_position}[kind],
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


_MOST_ROWS, _LARGEST_SEED = 4_096, 2**31 - 2
_SEEDS = {"zero": 1, "any": 7}
"""Seeds, with weights: those that every generator takes, of 31 binary digits at most."""

_CLAUSES = ("shape", "mean", "standard_deviation", "distribution", "tails", "seed")


def draw_weights(words: Words, limits: Limits) -> Drawn:
    """Draw a case of random weights, of no fewer elements than its properties are graded on.

    Limits with fewer elements are exceeded; `UsageError` where stated rows and columns make it too small.
    """
    stream = words.of("fans")
    drawn_rows = stream.of_any_size(1, _MOST_ROWS)
    rows = limits.stated.get("fan_in", drawn_rows)
    fewest = -(-FEWEST_ELEMENTS // max(rows, 1))
    drawn_columns = stream.of_any_size(fewest, max(limits.elements // max(rows, 1), fewest))
    stream = words.of("seed")
    kind, any_seed = stream.weighted(_SEEDS), stream.of_any_size(1, _LARGEST_SEED + 1) - 1
    attributes: dict[str, Any] = {
        "fan_in": rows,
        "fan_out": drawn_columns,
        "seed": 0 if kind == "zero" else any_seed,
        **limits.stated,
    }
    if attributes["fan_in"] * attributes["fan_out"] < FEWEST_ELEMENTS:
        raise UsageError(
            f"Weights are graded by properties of {FEWEST_ELEMENTS} elements and more, and these are "
            f"{attributes['fan_in']} by {attributes['fan_out']}: state more rows or columns."
        )
    return Drawn(
        inputs={},
        attributes=attributes,
        features=(),
        extents={},
        clauses=tuple(f"glorot_normal.{name}" for name in _CLAUSES),
        properties={"distribution": "normal", "fan_in": attributes["fan_in"], "fan_out": attributes["fan_out"]},
        others={"seed": attributes["seed"] + 1},
    )

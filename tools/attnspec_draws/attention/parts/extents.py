"""Lengths of the axes of attention: drawn ones, short for the most part, and those of a user's shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import Stream

SHORT = 8
"""Longest axis that is short: mistakes that depend on no tile show there."""

_LONG_AXES = {1: 5, 2: 2, 0: 1}
"""How many axes are long, with weights: most mistakes of long axes need one."""

_LONG = {"keys": 14, "queries": 8, "width": 4, "value_width": 3, "heads": 2, "shared": 2, "batch": 2, "past": 3}
"""Which axes are long, with weights: keys carry most of what goes wrong with length."""

_SPECIAL = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1024, 1025, 2048)
"""Lengths around the tiles of kernels."""

_PAST = 18
"""Of a hundred draws, how many have a past."""

_GROUPS = {1: 5, 2: 3, 3: 2, 4: 1}
_LENGTHS = {"any": 14, "special": 5, "tiles": 2}
"""Which long axes there are, with weights: of any length, one of those around tiles, or whole tiles."""

_TILES = (16, 32, 64, 128, 256)
_USUAL_WIDTHS = (32, 64, 128)
_ONE_QUERY, _USUAL_WIDTH, _SAME_WIDTHS = 18, 20, 75
"""Of a hundred draws, how many have one query, heads as wide as they usually are, and values as wide as keys."""

_COUPLED = {"": 80, "tokens": 10, "heads": 3, "width": 3, "keys": 2, "batch": 2}
"""Which two axes are made equal, with weights: an implementation that confuses them is right only there."""

_EMPTIED = {"": 950, "keys": 16, "queries": 12, "batch": 14, "shared": 8}
"""Which axis is made empty, with weights; none, for the most part."""

_MOST_HEADS = 70
"""More heads or batch entries than a warp has threads are as good as any number of them."""


@dataclass(frozen=True)
class Extents:
    """The lengths of all axes: B, Hq = shared * group, Hkv, Sq, Sk, E, Ev and P."""

    batch: int
    shared: int
    group: int
    queries: int
    keys: int
    width: int
    value_width: int
    past: int

    @property
    def heads(self) -> int:
        """Hq, how many query heads there are."""
        return self.shared * self.group

    @property
    def columns(self) -> int:
        """How many keys there are, past ones included."""
        return self.past + self.keys

    @property
    def over_keys(self) -> tuple[int, int, int, int]:
        """The shape of the scores."""
        return (self.batch, self.heads, self.queries, self.columns)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the tensors of tokens, past ones included."""
        return {
            "query": (self.batch, self.heads, self.queries, self.width),
            "key": (self.batch, self.shared, self.keys, self.width),
            "value": (self.batch, self.shared, self.keys, self.value_width),
            "past_key": (self.batch, self.shared, self.past, self.width),
            "past_value": (self.batch, self.shared, self.past, self.value_width),
        }

    @property
    def largest(self) -> int:
        """How many elements the largest tensor has, scores included; a mask may have them where there are no heads."""
        batch, heads, queries, columns = (max(length, 1) for length in self.over_keys)
        rows = max(queries * columns, queries * max(self.width, self.value_width))
        tokens = columns * max(self.width, self.value_width)
        return batch * max(heads * rows, max(self.shared, 1) * tokens)

    def as_limits(self) -> dict[str, int]:
        """Return axis to length, as `Limits.extents` takes them."""
        return dict(vars(self))


def draw_extents(stream: Stream, limits: Limits, *, with_past: bool, elements: int) -> Extents:
    """Draw the lengths of all axes, from a stream of its own; those that the limits name are taken.

    `elements` bounds the largest tensor as far as lengths are drawn; `UsageError` where named lengths alone exceed the
    limits.
    """
    lengths = {
        "batch": stream.between(1, 3),
        "shared": stream.between(1, 3),
        "group": stream.weighted(_GROUPS),
    }
    lengths |= {axis: stream.between(1, SHORT) for axis in ("queries", "keys", "width", "value_width", "past")}
    has_past = with_past and stream.percent(_PAST)
    _lengthen(stream, limits, lengths)
    _make_special(stream, lengths)
    _couple(stream, lengths)
    lengths = {axis: min(length, limits.longest) for axis, length in lengths.items()}
    _empty(stream, limits, lengths)
    if not has_past:
        lengths["past"] = 0
    may_have_past = with_past and limits.allow("past_key", "past_value")
    stated = {
        axis: length for axis, length in limits.extents.items() if axis in lengths and (axis != "past" or may_have_past)
    }
    lengths |= stated
    _leave_out(limits, lengths)
    extents = _within(Extents(**{**lengths, **stated}), limits, elements)
    if not limits.allow("cross_attention"):
        extents = _of_one_sequence(extents)
    # Of what is larger, rows are sampled where that is requested.
    if not limits.rows:
        limits.check_size(extents.largest)
    return extents


def _of_one_sequence(extents: Extents) -> Extents:
    """Return lengths for one array of tokens, also where others are stated: the lesser of two."""
    tokens, width = min(extents.queries, extents.keys), min(extents.width, extents.value_width)
    return replace(extents, group=1, past=0, queries=tokens, keys=tokens, width=width, value_width=width)


def _lengthen(stream: Stream, limits: Limits, lengths: dict[str, int]) -> None:
    for _ in range(stream.weighted(_LONG_AXES)):
        axis = stream.weighted(_LONG)
        most = min(limits.longest, _MOST_HEADS if axis in ("heads", "shared", "batch") else limits.longest)
        longer = stream.of_any_size(SHORT + 1, max(most, SHORT + 1))
        kind = stream.weighted(_LENGTHS)
        if kind == "special":
            longer = stream.one_of([length for length in _SPECIAL if length <= most] or [longer])
        elif kind == "tiles":
            tile = stream.one_of(_TILES)
            longer = max(tile, longer // tile * tile)
        longer = min(longer, most)
        if axis == "heads":
            lengths["group"] = longer
        else:
            lengths[axis] = longer


def _make_special(stream: Stream, lengths: dict[str, int]) -> None:
    """Make queries one, and heads as wide as they usually are, more often than chance would."""
    one_query, usual, same_widths = map(stream.percent, (_ONE_QUERY, _USUAL_WIDTH, _SAME_WIDTHS))
    width = stream.one_of(_USUAL_WIDTHS)
    if one_query:
        lengths["queries"] = 1
    if usual:
        lengths["width"] = width
    if same_widths:
        lengths["value_width"] = lengths["width"]


def _couple(stream: Stream, lengths: dict[str, int]) -> None:
    """Make two axes equal at times."""
    coupled = stream.weighted(_COUPLED)
    if coupled == "tokens":
        lengths["queries"] = lengths["keys"]
        lengths["past"] = 0
    elif coupled == "heads":
        lengths["batch"], lengths["group"] = lengths["shared"], 1
    elif coupled == "width":
        lengths["width"] = lengths["value_width"] = min(lengths["keys"], 128)
    elif coupled == "keys":
        lengths["queries"] = lengths["shared"]
    elif coupled == "batch":
        lengths["queries"] = lengths["batch"]


def _empty(stream: Stream, limits: Limits, lengths: dict[str, int]) -> None:
    axis = stream.weighted(_EMPTIED)
    named = {"keys": "empty_keys", "queries": "empty_queries", "batch": "empty_batch", "shared": "empty_heads"}
    if axis and limits.allow(named[axis]):
        lengths[axis] = 0


def _leave_out(limits: Limits, lengths: dict[str, int]) -> None:
    if not limits.allow("grouped_query"):
        lengths["group"] = 1
    for feature, axes in _EQUAL_WITHOUT.items():
        if not limits.allow(feature):
            leading = next((axis for axis in axes if axis in limits.extents), axes[0])
            lengths |= dict.fromkeys(axes, max(lengths[leading], 1))
    if not limits.allow("past_key", "past_value") or not limits.allow("unequal_lengths"):
        lengths["past"] = 0


_EQUAL_WITHOUT = {"value_width": ("width", "value_width"), "unequal_lengths": ("keys", "queries")}
"""Features to the axes that are equally long without them; the first one says how long, if none is stated."""

_SHORTENED = ("batch", "shared", "group", "queries", "past", "width", "value_width", "keys")
"""The order in which axes are shortened until the largest tensor fits: heads first, keys last."""


def _within(extents: Extents, limits: Limits, elements: int) -> Extents:
    """Shorten axes that are not stated, in turn, until the largest tensor has no more elements than it may."""
    stated = {*limits.extents}
    for feature, axes in _EQUAL_WITHOUT.items():
        if not limits.allow(feature) and not stated.isdisjoint(axes):
            stated.update(axes)
    while extents.largest > elements:
        free = {axis: vars(extents)[axis] for axis in _SHORTENED if axis not in stated}
        longest = max(free.values(), default=1)
        if longest <= 1:
            break
        # Axes that are short already cost little: the first of those that are not is halved.
        short = max(min(SHORT, longest - 1) // 2, 1)
        axis = next(axis for axis, length in free.items() if length > short)
        shorter = {axis: free[axis] // 2}
        if axis in ("queries", "keys") and not limits.allow("unequal_lengths"):
            shorter = {"queries": shorter[axis], "keys": shorter[axis]}
        if axis in ("width", "value_width") and extents.width == extents.value_width:
            shorter = {"width": shorter[axis], "value_width": shorter[axis]}
        extents = replace(extents, **{name: length for name, length in shorter.items() if name not in stated})
    return extents


_RANK = 4
_FEW = 2
_AT_SHAPES = ("scaled_dot_product_attention", "scaled_dot_product_attention_backward", "merge_states")
"""The operations that are judged at the shapes of a user."""


def extents_of(
    operation: str, shapes: Mapping[str, tuple[int, ...]], _: Mapping[str, Any] = MappingProxyType({})
) -> Mapping[str, int]:
    """Return axis to length, as the case generator calls its axes, from the shape of every required input.

    `ValueError`, whose message is a clause of a sentence, where the shapes do not fit or the operation is not drawn so.
    """
    if operation not in _AT_SHAPES:
        raise ValueError(f"cases of {operation} are not drawn at given shapes; those of {', '.join(_AT_SHAPES)} are")
    if operation == "merge_states":
        batch, heads, queries, width = _of_rank_4("output_a", shapes)
        return {"batch": batch, "heads": heads, "queries": queries, "width": width}
    batch, heads, queries, width = _of_rank_4("query", shapes)
    of_keys, shared, keys, of_key = _of_rank_4("key", shapes)
    *beside, value_width = _of_rank_4("value", shapes)
    if (of_keys, of_key) != (batch, width) or beside != [batch, shared, keys]:
        raise ValueError("query, key and value do not belong together: their batch entries, heads or tokens differ")
    if not shared or heads % shared:
        raise ValueError(f"{heads} query heads are no multiple of {shared} key heads")
    extents = {
        "batch": batch,
        "shared": shared,
        "group": heads // shared,
        "queries": queries,
        "keys": keys,
        "width": width,
        "value_width": value_width,
    }
    if operation != "scaled_dot_product_attention":
        return extents
    return extents | {"past": shapes["past_key"][2] if len(shapes.get("past_key", ())) == _RANK else 0}


def with_few_heads(operation: str, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of the same call with one batch entry, and at most two key heads of two query heads each.

    `ValueError` where the shapes do not fit each other.
    """
    extents = extents_of(operation, shapes)
    if operation == "merge_states":
        return {name: (min(shape[0], 1), min(shape[1], _FEW), *shape[2:]) for name, shape in shapes.items()}
    shared, group = min(extents["shared"], _FEW), min(extents["group"], _FEW)
    # The axis of heads has as many as there are query heads in the tensors of queries, and key heads in the others.
    heads = {extents["shared"]: shared}
    of_queries = {"query", "grad_output", "output", "logsumexp", "grad_logsumexp"}
    return {
        name: (min(shape[0], 1), shared * group if name in of_queries else heads[shape[1]], *shape[2:])
        for name, shape in shapes.items()
    }


def _of_rank_4(name: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, int, int, int]:
    shape = shapes.get(name)
    if shape is None:
        raise ValueError(f"the shape of {name} is missing")
    if len(shape) != _RANK:
        raise ValueError(f"{name} has {len(shape)} axes, and not batch entries, heads, tokens and features")
    return shape[0], shape[1], shape[2], shape[3]

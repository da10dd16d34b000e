"""Attention at real sizes: inputs generated where they are read, sampled rows, and parts for trivial answers."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case, Inputs
from attnspec.cases.generator import BELL, Generated, Rise
from attnspec.contract.dtypes import numpy_dtype
from attnspec.families.attention.steps.attendance import attendance
from attnspec_draws.attention.parts.extents import Extents
from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.trivial_answers import Part
from attnspec_draws.generators.words import BITS, COARSE_UNIT, Stream, Words, full_width, weights

_FULL_WIDTH = "full_width"
_DTYPES = {53: "float64", 24: "float32", 11: "float16", 8: "bfloat16"}
"""Significant bits of a number to the dtype that has as many."""

_SHARPNESS = {1: 1, 2: 3, 4: 4, 8: 2}
_GENTLE = {"float64": 0.25, "float32": 0.25, "float16": 1.0, "bfloat16": 0.25}
"""Of full width: the sharper scores are, the more a tolerance allows; float16 cannot hold a quarter of its least."""

_FAR_APART = {128: 1, 256: 1}
"""Scores of some hundreds, no exponential of which is finite in float32."""

_TINY = {"float64": 2.0**-60, "float32": 2.0**-60, "float16": 2.0**-8, "bfloat16": 2.0**-60}
"""Values far below one whose products with weights are still no subnormal numbers; generated ones fit into float32."""

_WIDE = 16.0
"""Values far above those of other draws: whoever clips them is seen."""

LARGE_CLASSES = weights("large")
"""Classes of numbers, with weights; those of small draws as far as a generator makes them."""

_TILES = (16, 32, 64, 128, 256, 512, 1024, 2048)
_STEP, _RISE, _UPWARDS, _STEEP = 64, 0.25, 70, 64.0
"""Rising scores: tokens a step, rise a step, draws of a hundred that rise, not fall, factor of steep ones.

Without a running maximum they fail there, and without rescaling they are far off.
"""

_MOST_FEATURES = 128
"""Features of a sampled row: those of a wider one are drawn, for its tolerance takes as long as it has features."""

_MOST_HEADS = 256
"""Heads, over all batch entries, whose last row is compared with values."""

_PLACING = ("is_causal", "window")
_OF_SCORES = ("scale", "softcap")


_KEPT = 3
"""Tensors that are kept: query, key and value of one draw, which are read for its answers, its call and its bound."""


class _DrawnOnce(Generated):
    """Generated tensor that is drawn when it is first read, and kept until others of `_KEPT` have been read."""

    __slots__ = ()

    def rows(self, start: int, stop: int, dtype: str = "float64") -> NDArray[Any]:
        """Return some tokens (stop - start, features), counted over all leading axes, as an array of its own."""
        return _drawn_whole(self)[start:stop].astype(numpy_dtype(dtype))


@lru_cache(maxsize=_KEPT)
def _drawn_whole(made: Generated) -> NDArray[Any]:
    """Draw a tensor (all tokens, features) in the smallest of float32 and float64 that holds all of its numbers."""
    tokens, features = made.size // max(made.shape[-1], 1), made.shape[-1]
    if made.generator != _FULL_WIDTH:
        return Generated.rows(made, 0, tokens, "float32")
    dtype = _DTYPES[made.bits]
    numbers = full_width(Stream(made.seed), (tokens, features), dtype) * made.unit
    return numbers.astype(np.promote_types(numpy_dtype(dtype), np.float32), copy=False)


class _Large(NamedTuple):
    """Large case, without its generated inputs."""

    extents: Extents
    given: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]

    def positions(self, entry: int, queries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where some queries of a batch entry stand among the keys."""
        if self.attributes.get("causal_alignment") != "bottom_right":
            return queries
        keys = self.given["key_lengths"][entry] if "key_lengths" in self.given else self.extents.keys
        counted = self.given["query_lengths"][entry] if "query_lengths" in self.given else self.extents.queries
        return queries + (keys - counted)

    def attended(self, entry: int, queries: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which keys some queries of a batch entry may attend to (N, K)."""
        placing = {name: self.attributes[name] for name in _PLACING if name in self.attributes}
        lengths = {name: self.given[name][[entry]] for name in ("key_lengths",) if name in self.given}
        positions = self.positions(entry, queries)
        shape = (1, 1, queries.size, self.extents.keys)
        attendable = attendance(shape, 0, lengths, query_positions=positions, **placing).attendable[0, 0].copy()
        if "query_lengths" in self.given:
            attendable[queries >= self.given["query_lengths"][entry]] = False
        return attendable


def draw_large(
    words: Words, extents: Extents, limits: Limits, given: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]
) -> Drawn:
    """Draw the numbers of a case that is too large to be stored whole, and the rows of it that are stored.

    `given` holds lengths, sinks and slopes.
    """
    generated, chosen = _generated(words, extents, limits)
    inputs = Inputs(given, generated)
    sampling = Words(f"{words.seed}/{limits.sample}", words.variant) if limits.sample else words
    case = _Large(extents, given, attributes)
    rows = _rows(sampling.varied("rows"), case, limits.rows)
    width = extents.value_width
    features = _features(sampling.varied("features"), width)
    expected = _expected(case, generated, rows, features)
    flat: NDArray[np.int64] = np.asarray(np.ravel_multi_index(tuple(rows.T), extents.over_keys[:3]), dtype=np.int64)
    elements: NDArray[np.int64] = flat[:, np.newaxis] * width + features
    return Drawn(
        inputs=inputs,
        attributes=attributes,
        features=(*given, *attributes, *(() if chosen == "plain" else (chosen,))),
        extents=extents.as_limits(),
        clauses=(),
        sample={"output": elements.reshape(-1), "logsumexp": flat},
        thinned={"output": (*extents.over_keys[:3], width), "logsumexp": extents.over_keys[:3]},
        expected=expected,
    )


def _generated(words: Words, extents: Extents, limits: Limits) -> tuple[dict[str, Generated], str]:
    """Return the tensors, and the class of their numbers."""
    stream = words.of("numbers")
    sharpness, far_apart = stream.weighted(_SHARPNESS), stream.weighted(_FAR_APART)
    drawn, rises = stream.weighted(LARGE_CLASSES), stream.percent(_UPWARDS)
    chosen = limits.numbers or drawn
    if chosen not in LARGE_CLASSES or not limits.allow(chosen):
        chosen = "plain"
    beside = f"~{words.variant}" if words.variant else ""
    bits = next(bits for bits, dtype in _DTYPES.items() if dtype == limits.dtype)
    made, digits, unit = (_FULL_WIDTH, bits, 1.0) if chosen == _FULL_WIDTH else (BELL, BITS, COARSE_UNIT)
    of_query = {"large": far_apart, "uniform": 0, _FULL_WIDTH: _GENTLE[limits.dtype]}.get(chosen, sharpness)
    of_value = {"tiny": _TINY[limits.dtype], "wide": _WIDE}.get(chosen, 1.0)
    is_steep = chosen == "rising"

    def tensor(name: str, factor: float = 1.0, **replaced: Any) -> Generated:
        seed = f"{words.seed}/{name}{beside}"
        return _DrawnOnce(made, seed, extents.shapes[name], digits, factor * unit, **replaced)

    generated = {
        "query": tensor("query", of_query, first=_STEEP if is_steep else None),
        "key": tensor("key", rise=Rise(_STEP, _RISE if rises else -_RISE) if is_steep else None),
        "value": tensor("value", of_value),
    }
    return generated, chosen


def _rows(stream: Stream, case: _Large, count: int) -> NDArray[np.int64]:
    """Draw rows (N, 3) of batch entry, head and query, in rising order, that may attend to some key.

    The last one of each head is among them: an unfinished answer is wrong there, be it in one head alone.
    """
    batch, heads, queries, _ = case.extents.over_keys
    counted: list[int] = case.given["query_lengths"].tolist() if "query_lengths" in case.given else [queries] * batch
    wanted = [(entry, head, counted[entry] - 1) for entry in range(batch) for head in range(heads)][:_MOST_HEADS]
    for _ in range(count):
        entry, head = stream.below(batch), stream.below(heads)
        wanted.append((entry, head, _query(stream, counted[entry])))
    attended = [
        row
        for row in sorted(set(wanted))
        if row[2] >= 0 and case.attended(row[0], np.array([row[2]], dtype=np.int64)).any()
    ]
    return np.array(attended, dtype=np.int64).reshape(-1, 3)


def _features(stream: Stream, width: int) -> NDArray[np.int64]:
    """Draw the features of sampled rows: all of them, or the first, the last, and others."""
    if width <= _MOST_FEATURES:
        return np.arange(width, dtype=np.int64)
    wanted = {0, width - 1}
    while len(wanted) < _MOST_FEATURES:
        wanted.add(stream.below(width))
    return np.array(sorted(wanted), dtype=np.int64)


def _query(stream: Stream, queries: int) -> int:
    """Draw a query: the first or last one, one at the border of a tile, or any; -1 where there is none."""
    kind = stream.weighted({"first": 1, "last": 3, "border": 4, "any": 4})
    if kind == "first" and queries:
        return 0
    if kind == "last" or not queries:
        return queries - 1
    tile = stream.one_of(_TILES)
    if kind == "border" and tile < queries:
        return stream.between(1, (queries - 1) // tile) * tile - stream.below(2)
    return stream.below(queries)


def _expected(
    case: _Large, generated: Mapping[str, Generated], rows: NDArray[np.int64], features: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the expected values of the sampled rows, some features of the output and the logarithm: head by head."""
    from attnspec_reference import scaled_dot_product_attention

    extents, given = case.extents, case.given
    outputs, logarithms = np.empty((len(rows), features.size)), np.empty(len(rows))
    of_scores = {name: case.attributes[name] for name in _OF_SCORES if name in case.attributes}
    for entry, head in np.unique(rows[:, :2], axis=0).tolist():
        chosen = (rows[:, 0] == entry) & (rows[:, 1] == head)
        queries = rows[chosen, 2]
        shared = entry * extents.shared + head // extents.group
        first_key = shared * extents.keys
        first = (entry * extents.heads + head) * extents.queries
        query = np.concatenate([generated["query"].rows(first + row, first + row + 1) for row in queries])
        key, value = (generated[name].rows(first_key, first_key + extents.keys) for name in ("key", "value"))
        attended = case.attended(entry, queries)
        # Distances are those of the whole case, which the reference cannot know of some rows: they come as a mask.
        bias = np.zeros(attended.shape)
        if "alibi_slopes" in given:
            distance = np.abs(case.positions(entry, queries)[:, np.newaxis] - np.arange(extents.keys))
            bias = -given["alibi_slopes"][head] * distance
        of_head = {"sinks": given["sinks"][[head]]} if "sinks" in given else {}
        query, key, value = (array[np.newaxis, np.newaxis] for array in (query, key, value))
        found = scaled_dot_product_attention(
            query, key, value, np.where(attended, bias, -np.inf), **of_head, **of_scores
        )
        outputs[chosen], logarithms[chosen] = found.output[0, 0][:, features], found.logsumexp[0, 0]
    return {"output": outputs.reshape(-1), "logsumexp": logarithms}


_SHARED, _GROUP = 2, 2
"""Key heads, and query heads of each: fewer show nothing of whose keys are whose, more take longer."""

_MOST_SCORES = 2**22
"""Scores of one head, at most: every trivial answer computes them anew, in float64."""


def part_of(case: Case) -> Part | None:
    """Return the part of a large case that trivial answers are given for; None where even that would take too long."""
    if not {"query", "key", "value"} <= case.generated.keys() or "past_key" in case.inputs:
        return None
    query, key = case.generated["query"], case.generated["key"]
    batch, heads, queries, _ = query.shape
    _, shared, keys, _ = key.shape
    if queries * keys > _MOST_SCORES or not batch * shared:
        return None
    group = heads // shared
    sampled = np.unravel_index(case.sample["output"], case.thinned["output"])
    entry = int(sampled[0][0]) if sampled[0].size else 0
    of_keys = np.arange(min(shared, _SHARED))
    of_queries = (of_keys[:, np.newaxis] * group + np.arange(min(group, _GROUP))).reshape(-1)
    inputs = {name: case.inputs[name] for name in case.inputs if name not in case.generated}
    inputs = {
        name: array[[entry]] if name.endswith("_lengths") else array[of_queries] for name, array in inputs.items()
    }
    inputs |= {
        name: _heads_of(case, name, entry, of_queries if name == "query" else of_keys)
        for name in ("query", "key", "value")
    }
    head_of = {head: index for index, head in enumerate(of_queries.tolist())}
    positions: dict[str, Any] = {}
    elements: dict[str, Any] = {}
    for name, flat in case.sample.items():
        shape = case.thinned[name]
        at = np.unravel_index(flat, shape)
        within = np.flatnonzero((at[0] == entry) & np.isin(at[1], of_queries))
        heads_there = np.array([head_of[head] for head in at[1][within].tolist()], dtype=np.int64)
        others = [axis[within] for axis in at[2:]]
        positions[name] = within
        elements[name] = np.ravel_multi_index(
            (np.zeros_like(heads_there), heads_there, *others), (1, of_queries.size, *shape[2:])
        )
    return Part(inputs, dict(case.attributes), positions, elements)


def _heads_of(case: Case, name: str, entry: int, heads: Any) -> Any:
    """Return some heads of an input (1, heads, tokens, features)."""
    made = case.generated[name]
    _, many, tokens, _ = made.shape
    first = [(entry * many + head) * tokens for head in heads.tolist()]
    return np.stack([made.rows(start, start + tokens) for start in first])[np.newaxis]

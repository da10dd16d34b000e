"""Tolerances of the sampled rows of a case that is too long to be bounded whole.

Each sampled query is a problem of its own, over the keys that it may attend to: the same error bound, run over a few
queries of a few heads at a time, so that the memory that it takes stays small however long the case is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.tolerance import Estimate, Interval, Precision, Tolerance, UnsampledInterval
from attnspec.families.attention.tolerance.error_bound import AttentionBound, AttentionTolerance, attention_tolerance
from attnspec.families.attention.tolerance.logit_error import Alternatives

if TYPE_CHECKING:
    from attnspec.cases import Inputs
    from attnspec.cases.generator import Generated

_LARGEST_BLOCK = 2**19
"""Scores that are bounded together: with more, what the bound holds at a time would not fit beside the inputs."""

_READ = ("query", "key", "value", "past_key", "past_value", "key_lengths", "query_lengths", "sinks", "alibi_slopes")

_LARGEST_TOKENS = 2**20
"""Numbers of keys, or of values, that are bounded together: 8 MB; heads beyond these are bounded after one another."""

_Indices = tuple[NDArray[np.int64], ...]
"""Indices along some axes, of one element after the other."""


class _Row(NamedTuple):
    """A sampled query: its batch entry, head and index, its position among the keys, and the keys it may attend."""

    entry: int
    head: int
    query: int
    position: int
    first: int
    last: int


class _Block(NamedTuple):
    """Sampled queries that are bounded together, as many of each head, and the features that are sampled of them.

    All may attend to keys within the same ones, `end` of which count; `positions` is empty where none matters.
    """

    heads: Sequence[Sequence[_Row]]
    features: NDArray[np.int64]
    keys: slice
    end: int
    positions: tuple[int, ...]


class _Bounded(NamedTuple):
    """Bounds of the sampled elements, in the order of the sample, filled block by block; errors have runs in front."""

    output: Estimate
    vacuous: NDArray[np.bool_]
    interval: Interval
    beyond: NDArray[Any]
    by_scale: NDArray[Any]
    logsumexp: Estimate
    shift: NDArray[Any]

    @classmethod
    def empty(cls, outputs: int, logsumexps: int, front: tuple[int, ...]) -> _Bounded:
        """Make arrays for so many elements, with the runs in front; queries beyond their length keep 0."""
        error, lowest, highest, beyond = (np.zeros((*front, outputs)) for _ in range(4))
        logsumexp = Estimate(np.full(logsumexps, -np.inf), np.zeros((*front, logsumexps)))
        vacuous = np.zeros((*front, outputs), dtype=np.bool_)
        interval, shift = Interval(lowest, highest), np.zeros((logsumexps, 1))
        by_scale = np.full(outputs, np.nan)
        return cls(Estimate(np.zeros(outputs), error), vacuous, interval, beyond, by_scale, logsumexp, shift)

    def put_output(
        self, result: AttentionTolerance, by_scale: NDArray[Any], at: _Indices, slots: NDArray[np.int64]
    ) -> None:
        """Take a result's bounds of some elements: by head, query and column there, by their index here."""
        self.output.value[slots] = result.output.value[0][at]
        self.by_scale[slots] = by_scale[0][at]
        interval = result.interval
        pairs = (
            (self.output.error, result.output.error),
            (self.vacuous, result.vacuous),
            (self.interval.lowest, interval.lowest),
            (self.interval.highest, interval.highest),
            (self.beyond, result.beyond),
        )
        for kept, found in pairs:
            kept[..., slots] = found[(..., 0, *at)]

    def put_logsumexp(self, result: AttentionTolerance, at: _Indices, slots: NDArray[np.int64]) -> None:
        """Take what a result says of the logsumexp of some queries: by head and query there, by their index here."""
        self.logsumexp.value[slots] = result.logsumexp.value[0][at]
        self.logsumexp.error[..., slots] = result.logsumexp.error[(..., 0, *at)]
        if result.shift is not None:
            self.shift[slots] = result.shift[0][at]


def _among(rising: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each element whose row is one of some, both rising, the number of that row, and its own index."""
    starts, stops = (np.searchsorted(rising, rows, side) for side in ("left", "right"))
    counts = stops - starts
    numbers = np.repeat(np.arange(rows.size), counts)
    return numbers, np.arange(numbers.size) + np.repeat(starts - counts.cumsum() + counts, counts)


def sampled_tolerance(
    operation: str,
    inputs: Inputs,
    attributes: Mapping[str, Any],
    sample: Mapping[str, NDArray[np.int64]],
    precision: Precision,
    conventions: Mapping[str, str],
) -> Tolerance:
    """Return values and tolerances of sampled elements, as `SampledToleranceModel` has it."""
    for name in (operation,) if operation != "scaled_dot_product_attention" else (*sample, *inputs):
        if name not in (*_READ, "output", "logsumexp"):
            raise ValueError(f"{name!r} cannot be sampled")
    question = _Question(inputs, attributes, sample, precision, conventions)
    shift = None
    if conventions.get("alibi_bias") == "column" and "alibi_slopes" in inputs and attributes.get("is_causal"):
        shift = question.bounded.shift
    return _SampledBound(question, shift)


_STEEPEST = 10.0
"""Standard deviation of the derivatives of a query's logits from which on its row is silent: a change of the scale by
1 % would then move it by a tenth more, or less, than along a line."""


def _by_scale(result: AttentionTolerance, softcap: float | None) -> NDArray[Any]:
    """Return the derivatives of the outputs by the logarithm of the scale; NaN in rows that do not follow a line."""
    shares, value, scores = result.softmax.shares, result.value.value, result.scaled.value
    of_logits = scores * (1 - np.tanh(scores / softcap) ** 2) if softcap else scores
    # A sink is a key of its own, which no scale moves.
    moved = np.zeros_like(shares)
    moved[..., : of_logits.shape[-1]] = shares[..., : of_logits.shape[-1]] * of_logits
    mean = moved.sum(axis=-1, keepdims=True)
    variance = np.sum(moved[..., : of_logits.shape[-1]] * of_logits, axis=-1, keepdims=True) - mean**2
    return np.where(variance < _STEEPEST**2, moved @ value - mean * result.output.value, np.nan)


class _SampledBound(AttentionBound):
    """Tolerances of sampled elements (N,), and between which numbers all others lie."""

    def __init__(self, question: _Question, shift: NDArray[Any] | None) -> None:
        unspecified = {name: question.padded(name) for name in question.sample}
        super().__init__(
            {"output": lambda: question.bounded.output, "logsumexp": lambda: question.bounded.logsumexp},
            {"output": lambda: question.bounded.vacuous},
            interval={"output": lambda: question.bounded.interval},
            shift=shift,
            unspecified={name: elements for name, elements in unspecified.items() if elements.any()},
        )
        self._question = question

    @property
    def sampled_slopes(self) -> Mapping[str, Mapping[str, NDArray[Any]]]:
        """Derivatives of the sampled outputs by the scale."""
        return {"scale": {"output": self._question.bounded.by_scale}}

    def interval_outside_sample(self, output: str, run: int = 0) -> UnsampledInterval | None:
        """Return between which numbers every element of an output lies that is not sampled."""
        if output != "output":
            return None
        beyond = self._question.bounded.beyond
        return self._question.interval_outside_sample(
            float((beyond[run] if beyond.ndim > 1 else beyond).max(initial=0.0))
        )


@dataclass(frozen=True)
class _Question:
    """A case, what is sampled of it, and what it is bounded under."""

    inputs: Inputs
    attributes: Mapping[str, Any]
    sample: Mapping[str, NDArray[np.int64]]
    precision: Precision
    conventions: Mapping[str, str]

    @cached_property
    def extents(self) -> tuple[int, int, int, int]:
        """B, Hq, Sq and E."""
        batch, heads, queries, width = self._shape("query")
        return batch, heads, queries, width

    @property
    def _past(self) -> int:
        return self._shape("past_key")[2] if "past_key" in self.inputs else 0

    @property
    def _keys(self) -> int:
        return self._past + self._shape("key")[2]

    def padded(self, name: str) -> NDArray[np.bool_]:
        """Return which sampled elements of an output come from queries beyond their length."""
        entries, _, queries = np.unravel_index(self._rows_of(name), self.extents[:3])
        return queries >= self._lengths("query_lengths", self.extents[2])[entries]

    def interval_outside_sample(self, beyond: float) -> UnsampledInterval:
        """Return between which numbers all outputs lie: the least and greatest values, or 0, and what is lost there."""
        batch, heads, queries, _ = self.extents
        width = self._shape("value")[3]
        shared = heads // self._shape("key")[1]
        lowest, highest = np.empty((batch, heads, 1, width)), np.empty((batch, heads, 1, width))
        for entry in range(batch):
            for head in range(0, heads, shared):
                values = self._tokens("value", entry, head // shared, slice(0, self._keys))
                lowest[entry, head : head + shared] = values.min(axis=0)
                highest[entry, head : head + shared] = values.max(axis=0)
        if "sinks" in self.inputs:
            lowest, highest = np.minimum(lowest, 0.0), np.maximum(highest, 0.0)
        open_rows = np.zeros((batch, 1, queries, 1), dtype=np.bool_)
        for entry in range(batch):
            _, first, last = self._placed(entry, np.arange(queries))
            answered = np.arange(queries) < self._lengths("query_lengths", queries)[entry]
            open_rows[entry, 0, :, 0] = ~answered | ((last < first) & ("sinks" not in self.inputs))
        return UnsampledInterval(lowest - beyond, highest + beyond, open_rows)

    @cached_property
    @np.errstate(all="ignore")
    def bounded(self) -> _Bounded:
        """The error bound, run over all sampled rows when it is first read."""
        width = self._shape("value")[3]
        outputs, logsumexps = (self.sample.get(name, np.empty(0, dtype=np.int64)) for name in ("output", "logsumexp"))
        found = _Bounded.empty(outputs.size, logsumexps.size, np.shape(self.precision.output)[:1])
        for block in self._blocks(outputs, width):
            result = self._result(block)
            every = np.array([row[:3] for rows in block.heads for row in rows])
            rows = np.asarray(np.ravel_multi_index(tuple(every.T), self.extents[:3]), dtype=np.int64)
            numbers, slots = _among(outputs // width, rows)
            columns = np.searchsorted(block.features, outputs[slots] % width)
            by_scale = _by_scale(result, self.attributes.get("softcap"))
            found.put_output(result, by_scale, (*np.divmod(numbers, len(block.heads[0])), columns), slots)
            numbers, slots = _among(logsumexps, rows)
            found.put_logsumexp(result, np.divmod(numbers, len(block.heads[0])), slots)
        return found

    def _blocks(self, outputs: NDArray[np.int64], width: int) -> Iterator[_Block]:
        """Give the sampled rows, heads that differ in their numbers alone together, as many at a time as fit."""
        are_placed = "alibi_slopes" in self.inputs or any(self.attributes.get(name) for name in ("is_causal", "window"))
        alike: dict[tuple[Any, ...], list[Sequence[_Row]]] = {}
        heads, every = np.divmod(np.unique(np.concatenate([*map(self._rows_of, self.sample)])), self.extents[2])
        for head_of_all in np.unique(heads).tolist():
            entry, head = divmod(head_of_all, self.extents[1])
            queries = every[heads == head_of_all]
            _, slots = _among(outputs // width, head_of_all * self.extents[2] + queries)
            columns = np.unique(outputs[slots] % width) if slots.size else np.zeros(1, dtype=np.int64)
            end = int(self._lengths("key_lengths", self._keys)[entry])
            for rows in self._rows_of_head(entry, head, queries):
                positions = tuple(row.position for row in rows) if are_placed else ()
                keys = (min(row.first for row in rows), max(row.last for row in rows) + 1)
                alike.setdefault((len(rows), columns.tobytes(), keys, end, positions), []).append(rows)
        for (many, features, (first, stop), end, positions), members in alike.items():
            columns = np.frombuffer(features, dtype=np.int64)
            tokens = (stop - first) * max(self.extents[3], columns.size)
            fitting = max(1, min(_LARGEST_BLOCK // (many * (stop - first)), _LARGEST_TOKENS // max(tokens, 1)))
            for start in range(0, len(members), fitting):
                yield _Block(members[start : start + fitting], columns, slice(first, stop), end, positions)

    def _rows_of_head(self, entry: int, head: int, queries: NDArray[np.int64]) -> Iterator[Sequence[_Row]]:
        """Give the sampled rows of a head, in the order of their positions, as many at a time as fit."""
        queries = queries[queries < self._lengths("query_lengths", self.extents[2])[entry]]
        position, first, last = self._placed(entry, queries)
        if (last < first).any():
            raise ValueError(f"the sampled query {int(queries[last < first][0])} may attend to no key")
        rows: list[_Row] = []
        for row in zip(queries.tolist(), position.tolist(), first.tolist(), last.tolist(), strict=True):
            if rows and (len(rows) + 1) * (row[3] - rows[0].first + 1) > _LARGEST_BLOCK:
                yield rows
                rows = []
            rows.append(_Row(entry, head, *row))
        if rows:
            yield rows

    def _result(self, block: _Block) -> AttentionTolerance:
        keys, firsts = block.keys, [rows[0] for rows in block.heads]
        group = self.extents[1] // self._shape("key")[1]
        query = np.stack([np.concatenate([self._query(row) for row in rows]) for rows in block.heads])
        key, value = (
            np.stack([self._tokens(name, row.entry, row.head // group, keys, features) for row in firsts])
            for name, features in (("key", None), ("value", block.features))
        )
        attributes = {name: self.attributes[name] for name in _BOUNDED_BY if name in self.attributes}
        of_heads = [row.head for row in firsts]
        given = {name: self.inputs[name][of_heads] for name in ("sinks", "alibi_slopes") if name in self.inputs}
        positions = block.positions or [row.position for row in block.heads[0]]
        return attention_tolerance(
            _exactly(query),
            _exactly(key),
            _exactly(value),
            self.precision,
            {**given, "key_lengths": np.array([block.end - keys.start])},
            query_positions=np.array(positions) - keys.start,
            shifted_by=keys.start,
            alternatives=self._alternatives,
            **attributes,
        )

    @property
    def _alternatives(self) -> Alternatives:
        by_column = self.conventions.get("alibi_bias") == "column" and "alibi_slopes" in self.inputs
        return Alternatives(
            alibi_by_column=bool(by_column and self.attributes.get("is_causal")),
            logsumexp_base_2=self.conventions.get("logsumexp_base") == "2",
        )

    def _placed(
        self, entry: int, queries: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return where queries stand among the keys of an entry, and the first and last key that each may attend."""
        end = int(self._lengths("key_lengths", self._keys)[entry])
        offset = self._past
        if self.attributes.get("causal_alignment") == "bottom_right":
            offset = end - int(self._lengths("query_lengths", self.extents[2])[entry])
        position = queries + offset
        left, right = self.attributes.get("window") or (None, None)
        first = np.zeros_like(position) if left is None else np.maximum(position - left, 0)
        last = np.full_like(position, end - 1) if right is None else np.minimum(position + right, end - 1)
        return position, first, np.minimum(last, position) if self.attributes.get("is_causal") else last

    def _query(self, row: _Row) -> NDArray[Any]:
        index = int(np.ravel_multi_index(row[:3], self.extents[:3]))
        made = self.inputs.generated.get("query")
        if made is not None:
            return made.rows(index, index + 1)
        return self.inputs.given["query"].reshape(-1, self.extents[3])[[index]]

    def _tokens(
        self, name: str, entry: int, head: int, keys: slice, features: NDArray[np.int64] | None = None
    ) -> NDArray[Any]:
        """Return some keys or values of a head (tokens, features), those of the past first."""
        parts: list[NDArray[Any]] = []
        start = 0
        for part in (f"past_{name}", name):
            if part not in self.inputs:
                continue
            _, heads, tokens, _ = self._shape(part)
            begin, end = max(keys.start - start, 0), min(keys.stop - start, tokens)
            if begin < end:
                slot = (entry * heads + head) * tokens
                parts.append(_drawn(self.inputs, part, slot + begin, slot + end, features))
            start += tokens
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _rows_of(self, name: str) -> NDArray[np.int64]:
        return self.sample[name] // (self._shape("value")[3] if name == "output" else 1)

    def _lengths(self, name: str, default: int) -> NDArray[np.int64]:
        return self.inputs[name] if name in self.inputs else np.full(self.extents[0], default)

    def _shape(self, name: str) -> tuple[int, ...]:
        made = self.inputs.generated.get(name)
        return self.inputs.given[name].shape if made is None else made.shape


_BOUNDED_BY = ("is_causal", "scale", "softcap", "window")
"""The attributes that the bound of a row reads; where it stands is said otherwise."""

_DRAWN_AT_ONCE = 2**14
"""Tokens that are drawn with all their features where some of them are wanted."""


def _drawn(inputs: Inputs, name: str, start: int, stop: int, features: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return some tokens of an input in float64, counted over all leading axes, and of them all or some features."""
    made: Generated | None = inputs.generated.get(name)
    if made is None:
        tokens = inputs.given[name].reshape(-1, inputs.given[name].shape[-1])[start:stop]
        return tokens if features is None else tokens[:, features]
    if features is None:
        return made.rows(start, stop)
    starts = range(start, stop, _DRAWN_AT_ONCE)
    return np.concatenate([made.rows(each, min(each + _DRAWN_AT_ONCE, stop))[:, features] for each in starts])


def _exactly(rows: NDArray[Any]) -> Estimate:
    """Return finite rows (heads, rows, features) as an estimate without error (1, heads, rows, features)."""
    # Errors of 0 are never read where the estimate is exact, so that they need no memory.
    return Estimate(rows[np.newaxis], np.zeros((1, 1, 1, 1)), is_exact=True)

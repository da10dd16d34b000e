"""Tolerances of the sampled rows of a case that is too long to be bounded whole.

Each sampled query is a problem of its own, over the keys that it may attend to: the same error bound, run over a few
queries of one head at a time, so that the memory that it takes stays small however long the case is.
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


class _Row(NamedTuple):
    """A sampled query: its batch entry, head and index, its position among the keys, and the keys it may attend."""

    entry: int
    head: int
    query: int
    position: int
    first: int
    last: int


class _Block(NamedTuple):
    """Sampled queries of one head that are bounded together, and the features that are sampled of them."""

    rows: Sequence[_Row]
    features: NDArray[np.int64]


class _Bounded(NamedTuple):
    """Bounds of the sampled elements, in the order of the sample; errors have the runs in front."""

    output: Estimate
    vacuous: NDArray[np.bool_]
    interval: Interval
    beyond: NDArray[Any]
    logsumexp: Estimate
    shift: NDArray[Any] | None


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

    def interval_outside_sample(self, output: str, run: int = 0) -> UnsampledInterval | None:
        """Return between which numbers every element of an output lies that is not sampled."""
        if output != "output":
            return None
        beyond = self._question.bounded.beyond
        return self._question.interval_outside_sample(float(beyond[run] if beyond.ndim else beyond))


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
                values = self._tokens("value", entry, head // shared, slice(0, self._keys), np.arange(width))
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
        outputs = self.sample.get("output", np.empty(0, dtype=np.int64))
        logsumexps = self.sample.get("logsumexp", np.empty(0, dtype=np.int64))
        runs = np.shape(np.atleast_1d(self.precision.output))[0] if np.ndim(self.precision.output) else None
        found = _Found.empty(outputs.size, logsumexps.size, runs)
        slot_of = {divmod(index, width): slot for slot, index in enumerate(outputs.tolist())}
        slot_of_row = {row: slot for slot, row in enumerate(logsumexps.tolist())}
        for block in self._blocks(width):
            result = self._result(block)
            for number, row in enumerate(block.rows):
                index = int(np.ravel_multi_index(row[:3], self.extents[:3]))
                wanted = [
                    (slot_of[index, feature], column)
                    for column, feature in enumerate(block.features.tolist())
                    if (index, feature) in slot_of
                ]
                found.put_output(result, number, wanted)
                if index in slot_of_row:
                    found.put_logsumexp(result, number, slot_of_row[index])
        return found.whole(shifted=bool(self._alternatives.alibi_by_column))

    def _blocks(self, width: int) -> Iterator[_Block]:
        """Give the sampled rows of each head, in the order of their positions, as many at a time as fit."""
        by_head: dict[tuple[int, int], set[int]] = {}
        features: dict[tuple[int, int], set[int]] = {}
        for name in self.sample:
            for row in self._rows_of(name).tolist():
                before, query = divmod(row, self.extents[2])
                by_head.setdefault(divmod(before, self.extents[1]), set()).add(query)
        for index in self.sample["output"].tolist() if "output" in self.sample else ():
            head_of_all = index // width // self.extents[2]
            features.setdefault(divmod(head_of_all, self.extents[1]), set()).add(index % width)
        for (entry, head), sampled in by_head.items():
            queries = np.array(sorted(sampled))
            queries = queries[queries < self._lengths("query_lengths", self.extents[2])[entry]]
            position, first, last = self._placed(entry, queries)
            if (last < first).any():
                raise ValueError(f"the sampled query {int(queries[last < first][0])} may attend to no key")
            columns = np.array(sorted(features.get((entry, head), {0})))
            block: list[_Row] = []
            for row in zip(queries.tolist(), position.tolist(), first.tolist(), last.tolist(), strict=True):
                if block and (len(block) + 1) * (row[3] - block[0].first + 1) > _LARGEST_BLOCK:
                    yield _Block(block, columns)
                    block = []
                block.append(_Row(entry, head, *row))
            if block:
                yield _Block(block, columns)

    def _result(self, block: _Block) -> AttentionTolerance:
        entry, head = block.rows[0][:2]
        keys = slice(min(row.first for row in block.rows), max(row.last for row in block.rows) + 1)
        shared = head // (self.extents[1] // self._shape("key")[1])
        query = np.concatenate([self._query(row) for row in block.rows])
        attributes = {name: self.attributes[name] for name in _BOUNDED_BY if name in self.attributes}
        given = {name: self.inputs[name][[head]] for name in ("sinks", "alibi_slopes") if name in self.inputs}
        end = self._lengths("key_lengths", self._keys)[entry] - keys.start
        return attention_tolerance(
            _exactly(query),
            _exactly(self._tokens("key", entry, shared, keys)),
            _exactly(self._tokens("value", entry, shared, keys, block.features)),
            self.precision,
            {**given, "key_lengths": np.array([end])},
            query_positions=np.array([row.position - keys.start for row in block.rows]),
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
    """Return finite rows of one head as an estimate without error (1, 1, rows, features)."""
    # Errors of 0 are never read where the estimate is exact, so that they need no memory.
    return Estimate(rows[np.newaxis, np.newaxis], np.zeros((1, 1, 1, 1)), is_exact=True)


@dataclass(frozen=True)
class _Found:
    """Arrays that are filled row by row, in the order of the sample."""

    value: NDArray[Any]
    error: NDArray[Any]
    vacuous: NDArray[np.bool_]
    lowest: NDArray[Any]
    highest: NDArray[Any]
    beyond: NDArray[Any]
    logsumexp: NDArray[Any]
    of_logsumexp: NDArray[Any]
    shift: NDArray[Any]

    @classmethod
    def empty(cls, outputs: int, logsumexps: int, runs: int | None) -> _Found:
        """Make arrays for so many elements and runs; queries beyond their length keep 0."""
        front = () if runs is None else (runs,)
        error, lowest, highest, beyond = (np.zeros((*front, outputs)) for _ in range(4))
        vacuous = np.zeros((*front, outputs), dtype=np.bool_)
        value, logsumexp = np.zeros(outputs), np.full(logsumexps, -np.inf)
        of_logsumexp, shift = np.zeros((*front, logsumexps)), np.zeros((logsumexps, 1))
        return cls(value, error, vacuous, lowest, highest, beyond, logsumexp, of_logsumexp, shift)

    def put_output(self, result: AttentionTolerance, number: int, wanted: Sequence[tuple[int, int]]) -> None:
        """Take a result's bounds of some features of one of its queries; each is an index here, and a column there."""
        if not wanted:
            return
        slots, columns = (list(each) for each in zip(*wanted, strict=True))
        self.value[slots] = result.output.value[0, 0, number, columns]
        interval, beyond = result.interval, result.beyond
        pairs = (
            (self.error, result.output.error),
            (self.vacuous, result.vacuous),
            (self.lowest, interval.lowest),
            (self.highest, interval.highest),
            (self.beyond, beyond),
        )
        for kept, found in pairs:
            kept[..., slots] = found[..., 0, 0, number, :][..., columns]

    def put_logsumexp(self, result: AttentionTolerance, number: int, slot: int) -> None:
        """Take what a result says of the logsumexp of one of its queries."""
        self.logsumexp[slot] = result.logsumexp.value[0, 0, number]
        self.of_logsumexp[..., slot] = result.logsumexp.error[..., 0, 0, number]
        if result.shift is not None:
            self.shift[slot] = result.shift[0, 0, number]

    def whole(self, *, shifted: bool) -> _Bounded:
        """Return all that was found."""
        return _Bounded(
            Estimate(self.value, self.error),
            self.vacuous,
            Interval(self.lowest, self.highest),
            self.beyond.max(axis=-1, initial=0.0),
            Estimate(self.logsumexp, self.of_logsumexp),
            self.shift if shifted else None,
        )

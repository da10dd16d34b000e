"""Attention a query at a time, over so many keys that those of equal score must count as one.

Where inputs lie on a coarse grid, a hundred thousand keys have a few hundred different scores. A row then has a column
for each of them: its exponential is taken once, counts as often as there are keys, and meets the sum of their values.
The sums are integers, so that nothing is rounded before the ball arithmetic that the ungrouped oracle does, too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, arb_mat, fmpz_mat

from attnspec_oracle.attention.logits import exact_logits, scale_for
from attnspec_oracle.attention.placement import Placement, placed
from attnspec_oracle.attention.rows import SoftmaxRow
from attnspec_oracle.certification import Quantity, certify
from attnspec_oracle.exact import ExactArray, integer_matrix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_EXACT_IN_FLOAT64 = 2**53
"""Below it, sums and products of integers in float64 are exact in whatever order they are taken."""

_FINEST = -1074
"""The exponent of the smallest float64."""

READABLE = ("query", "key", "value", "past_key", "past_value", "key_lengths", "query_lengths", "sinks", "alibi_slopes")


class Tokens:
    """The tokens of one input as integers times a common power of two, head by head.

    Parameters
    ----------
    parts
        Arrays (B, H, S, features) that stand one behind the other; finite.
    """

    def __init__(self, parts: Sequence[NDArray[Any]]) -> None:
        self.exponent = _exponent(parts)
        self._parts = parts
        self._head: tuple[tuple[int, int], NDArray[np.float64]] | None = None

    @property
    def heads(self) -> int:
        """How many heads there are."""
        return self._parts[0].shape[1]

    def of_head(self, entry: int, head: int) -> NDArray[np.float64]:
        """Return the integers of a head (tokens, features), in float64; those of the last one are kept."""
        if self._head is None or self._head[0] != (entry, head):
            joined = np.concatenate([part[entry, head] for part in self._parts])
            self._head = ((entry, head), np.ldexp(joined, -self.exponent))
        return self._head[1]


class GroupedAttention:
    """Evaluates single queries of ``scaled_dot_product_attention``.

    Parameters
    ----------
    inputs, attributes
        Those of the operation, without a mask; all numbers finite, on a grid that is coarse enough for sums of
        products to be exact in float64.

    Raises
    ------
    ValueError
        When an input is given that is not read here, or the numbers are too fine.
    """

    def __init__(self, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> None:
        for name in inputs:
            if name not in READABLE:
                raise ValueError(f"The oracle that goes row by row reads no {name!r}.")
        self._inputs, self._attributes = inputs, attributes
        self._query = Tokens([inputs["query"]])
        self._key, self._value = (
            Tokens([inputs[part] for part in (f"past_{name}", name) if part in inputs]) for name in ("key", "value")
        )
        batch, self._heads, self._queries, self._width = inputs["query"].shape
        past = inputs["past_key"].shape[2] if "past_key" in inputs else 0
        self._placement = placed(
            batch=batch,
            queries=self._queries,
            keys=past + inputs["key"].shape[2],
            past=past,
            causal_alignment=attributes.get("causal_alignment", "top_left"),
            key_lengths=inputs.get("key_lengths"),
            query_lengths=inputs.get("query_lengths"),
        )
        self._features: int = inputs["value"].shape[3]

    def rows(self, positions: Mapping[str, Sequence[int]]) -> dict[int, dict[str, list[int]]]:
        """Sort wanted elements of ``output`` and ``logsumexp``, by flat index, into rows: row to output to indices."""
        found: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
        for output, width in (("output", self._features), ("logsumexp", 1)):
            for index in positions.get(output, ()):
                found[index // width].setdefault(output, []).append(index)
        return dict(sorted(found.items()))

    def evaluate(self, row: int, wanted: Mapping[str, Sequence[int]]) -> dict[str, list[float]]:
        """Round the wanted elements of a row.

        Parameters
        ----------
        row
            Index of a query among all queries of all heads and batch entries.
        wanted
            Output name to the flat indices of its wanted elements, all of them of this row.

        Raises
        ------
        OracleError
            When an element is undecided at the highest precision.
        """
        head, query = divmod(row, self._queries)
        entry, head = divmod(head, self._heads)
        features = [index - row * self._features for index in wanted.get("output", ())]
        grouped = self._grouped(entry, head, query, features)
        if grouped is None:
            empty = {"output": 0.0, "logsumexp": -math.inf}
            return {output: [empty[output]] * len(indices) for output, indices in wanted.items()}
        quantities = {"output": GroupedMeans(grouped), "logsumexp": GroupedLogSumExp(grouped)}
        values: dict[str, list[float]] = {}
        for output, indices in wanted.items():
            quantity = quantities[output]
            found = certify(f"{output} of row {row}", lambda _, quantity=quantity: quantity, (1, len(indices)))
            values[output] = (found[0] + 0.0).tolist()
        return values

    def _grouped(self, entry: int, head: int, query: int, features: Sequence[int]) -> GroupedRow | None:
        """Group the keys that a query attends to; None where it has none, and no sink."""
        placement, attributes = self._placement, self._attributes
        if query >= placement.query_lengths[entry]:
            return None
        seen = Placement(
            placement.queries[[entry]][:, [query]], placement.keys, placement.key_lengths[[entry]], np.array([1])
        )
        is_causal, window = attributes.get("is_causal", False), attributes.get("window")
        attended = np.flatnonzero(seen.attendable(is_causal=is_causal, window=window)[0, 0, 0])
        shared = head * self._key.heads // self._heads
        vector = self._query.of_head(entry, head)[query]
        # A slice is no copy, and what a query attends to is one range of keys.
        keys = slice(int(attended[0]), int(attended[-1]) + 1) if attended.size else slice(0, 0)
        dots = _exact_product(self._key.of_head(entry, shared)[keys], vector)
        slope = _dyadic(self._inputs["alibi_slopes"][head]) if "alibi_slopes" in self._inputs else (0, 0)
        distances = np.abs(seen.distances[0, 0, keys]) if slope[0] else np.zeros(dots.size, dtype=np.int64)
        span = int(distances.max(initial=0)) + 1
        if int(np.abs(dots).max(initial=0)) * span >= 2**62:
            raise ValueError("The numbers of this case are too fine to be grouped.")
        groups, inverse = np.unique(dots * span + distances, return_inverse=True)
        counts = np.bincount(inverse, minlength=groups.size)
        values = self._value.of_head(entry, shared)[keys][:, list(features)]
        sums = _sums_of_groups(values, inverse, counts)
        of_group, far = np.divmod(groups, span)
        biases = -slope[0] * far.astype(object)
        return self._row(of_group.astype(object), biases, slope[1], counts.tolist(), sums, self._sink(head))

    def _sink(self, head: int) -> tuple[int, int] | None:
        return _dyadic(self._inputs["sinks"][head]) if "sinks" in self._inputs else None

    def _row(
        self,
        dots: NDArray[Any],
        biases: NDArray[Any],
        exponent: int,
        counts: list[int],
        sums: NDArray[Any],
        sink: tuple[int, int] | None,
    ) -> GroupedRow | None:
        if sink is not None:
            # One more group, whose dot product and whose values are zero.
            least = min(exponent, sink[1])
            biases = np.append(biases * (1 << (exponent - least)), sink[0] << (sink[1] - least))
            dots, exponent, counts = np.append(dots, 0), least, [*counts, 1]
            sums = np.concatenate([sums, np.zeros((1, sums.shape[1]), dtype=object)])
        if not counts:
            return None
        none = np.zeros((1, dots.size))
        logits = exact_logits(
            ExactArray(dots[np.newaxis], self._query.exponent + self._key.exponent, none),
            scale_for(self._attributes.get("scale"), self._width),
            ExactArray(biases[np.newaxis], exponent, none),
            self._attributes.get("softcap"),
        )
        row = SoftmaxRow(logits, logits.row(0), [True] * dots.size)
        return GroupedRow(row, counts, ExactArray(sums, self._value.exponent, np.zeros(sums.shape)))


@dataclass(frozen=True)
class GroupedRow:
    """One row of logits with a column for each group of keys.

    Attributes
    ----------
    row
        The row.
    counts
        How many keys each group has.
    sums
        The sums of their values (groups, features).
    """

    row: SoftmaxRow
    counts: Sequence[int]
    sums: ExactArray

    def total(self) -> arb:
        """Enclose the sum of all exponentials at the working precision."""
        columns = self.row.exponentials().columns
        return (arb_mat(1, len(columns), columns) * self._numbers)[0, 0]

    @cached_property
    def matrix(self) -> arb_mat:
        """The integers of the sums, as a matrix of exact balls."""
        return arb_mat(integer_matrix(self.sums.integers))

    @cached_property
    def _numbers(self) -> arb_mat:
        return arb_mat(fmpz_mat(len(self.counts), 1, list(self.counts)))


@dataclass(frozen=True)
class GroupedMeans(Quantity):
    """The values averaged with the softmax weights of one row."""

    grouped: GroupedRow

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the means of features of the values."""
        columns = self.grouped.row.exponentials().columns
        divisor = self.grouped.total() * arb((1, -self.grouped.sums.exponent))
        sums = (arb_mat(1, len(columns), columns) * self.grouped.matrix).entries()
        return [sums[position] / divisor for position in positions]

    def rational(self, position: int) -> Fraction | None:
        """Give the mean that all keys of equal logits share, if they do."""
        column = self.grouped.sums.integers[:, position].tolist()
        means = {
            Fraction(sum(column[group] for group in groups), sum(self.grouped.counts[group] for group in groups))
            for groups in self.grouped.row.groups.values()
        }
        if len(means) > 1:
            return None
        return means.pop() * Fraction(2) ** self.grouped.sums.exponent


@dataclass(frozen=True)
class GroupedLogSumExp(Quantity):
    """The logarithm of the sum of the exponentials of one row."""

    grouped: GroupedRow

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the greatest logit plus the logarithm of the sum, the only number of the row."""
        row = self.grouped.row
        return [row.logits.ball(row.greatest) + self.grouped.total().log() for _ in positions]


def _exponent(parts: Sequence[NDArray[Any]]) -> int:
    """Return the largest exponent for which all numbers are integers times that power of two."""
    least = 0
    for part in parts:
        if not np.isfinite(part).all():
            raise ValueError("The oracle that goes row by row takes finite numbers only.")
        numbers = np.unique(part)
        for number in numbers[numbers != 0].tolist():
            least = min(least, 1 - number.as_integer_ratio()[1].bit_length())
    return max(least, _FINEST)


def _dyadic(number: float) -> tuple[int, int]:
    """Return a finite number as an integer and the exponent of its power of two."""
    above, below = float(number).as_integer_ratio()
    return above, 1 - below.bit_length()


def _exact_product(keys: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the products of keys (tokens, width) with a vector (width,), all of them integers."""
    largest = float(np.abs(keys).max(initial=0.0)) * float(np.abs(vector).max(initial=0.0)) * max(vector.size, 1)
    if not largest < _EXACT_IN_FLOAT64:
        raise ValueError("The numbers of this case are too fine to be grouped.")
    return (keys @ vector).astype(np.int64)


def _sums_of_groups(values: NDArray[np.float64], inverse: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of values (tokens, features) over the tokens of each group, as Python integers."""
    if not float(np.abs(values).max(initial=0.0)) * max(len(values), 1) < _EXACT_IN_FLOAT64:
        raise ValueError("The values of this case are too fine to be grouped.")
    sums = np.empty((counts.size, values.shape[1]), dtype=object)
    for feature in range(values.shape[1]):
        of_groups = np.bincount(inverse, weights=values[:, feature], minlength=counts.size)
        sums[:, feature] = of_groups.astype(np.int64).tolist()
    return sums

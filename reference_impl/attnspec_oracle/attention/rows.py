"""One row of logits, and what is computed from it: weights, logarithm of the sum, means of the values.

A row is computed as ``exp(logit - greatest logit)``, summed, and divided by the sum last. The greatest
logit is found exactly and its exponential is exactly 1, so a single key and equal logits need no rounding
before the division. A sink is one more column of the row, whose value is zero.

When is a result rational? Exponentials of different algebraic numbers are linearly independent over the
rationals (Lindemann and Weierstrass). A weighted mean of exact values is therefore rational only when each
group of equal logits has the same mean value, and then it is that mean. Behind a softcap logits are not
algebraic; there the rule still gives true results, but is not known to find them all. Logits, weights and the
logarithm of a sum need no such rule: where they are dyadic, their balls become exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flint import arb, arb_mat, ctx

from attnspec_oracle.certification import Quantity
from attnspec_oracle.exact import integer_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec_oracle.attention.logits import ExactLogits, Term
    from attnspec_oracle.exact import ExactArray


class Exponentials(NamedTuple):
    """The exponentials of a row at one precision.

    Attributes
    ----------
    columns
        exp(logit - greatest) of every column; exactly 0 for one that is not counted.
    total
        Their sum; 1 for a row in which no column is counted, which makes its quotients 0.
    """

    columns: list[arb]
    total: arb


@dataclass(frozen=True)
class SoftmaxRow:
    """One row of logits over its columns: the keys and, where there is one, the sink.

    Attributes
    ----------
    logits
        The array that the row belongs to.
    terms
        The exact logit of every column.
    counted
        For every column, whether it is in the sum: it may be attended and its logit is finite.
    """

    logits: ExactLogits
    terms: Sequence[Term]
    counted: Sequence[bool]
    _exponentials: dict[int, Exponentials] = field(
        init=False, repr=False, compare=False, default_factory=dict[int, Exponentials]
    )

    @cached_property
    def groups(self) -> dict[Term, list[int]]:
        """The positions of the counted columns, by their exact logit."""
        groups: dict[Term, list[int]] = {}
        for position, (term, counts) in enumerate(zip(self.terms, self.counted, strict=True)):
            if counts:
                groups.setdefault(term, []).append(position)
        return groups

    @cached_property
    def greatest(self) -> Term:
        """The greatest counted logit, or zero when no column is counted."""
        return self.logits.greatest(list(self.groups)) if self.groups else (0, 0)

    def exponentials(self) -> Exponentials:
        """Enclose the exponentials at the working precision."""
        found = self._exponentials.get(ctx.prec)
        if found is None:
            columns = [arb(0)] * len(self.terms)
            total = arb(0)
            for term, positions in self.groups.items():
                exponential = self.logits.exponential(term, self.greatest)
                total += exponential * len(positions)
                for position in positions:
                    columns[position] = exponential
            found = Exponentials(columns, total if self.groups else arb(1))
            self._exponentials[ctx.prec] = found
        return found


@dataclass(frozen=True)
class RowLogits(Quantity):
    """The logits of one row, as numbers to be rounded."""

    logits: ExactLogits
    terms: Sequence[Term]

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose logits."""
        return [self.logits.ball(self.terms[position]) for position in positions]


@dataclass(frozen=True)
class RowWeights(Quantity):
    """The softmax weights of one row."""

    row: SoftmaxRow

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose weights."""
        columns, total = self.row.exponentials()
        return [columns[position] / total for position in positions]


@dataclass(frozen=True)
class RowLogSumExp(Quantity):
    """The logarithm of the sum of the exponentials of one row."""

    row: SoftmaxRow

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the greatest logit plus the logarithm of the sum, the only number of the row."""
        return [self.row.logits.ball(self.row.greatest) + self.row.exponentials().total.log() for _ in positions]


@dataclass(frozen=True)
class Values:
    """Exact values, (columns, width), ready to be averaged."""

    exact: ExactArray

    @cached_property
    def matrix(self) -> arb_mat:
        """The integers of the values, as a matrix of exact balls."""
        return arb_mat(integer_matrix(self.exact.integers))


@dataclass(frozen=True)
class RowMeans(Quantity):
    """The values averaged with the softmax weights of one row."""

    row: SoftmaxRow
    values: Values

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the means of columns of the values."""
        columns, total = self.row.exponentials()
        divisor = total * arb((1, -self.values.exact.exponent))
        sums = (arb_mat(1, len(columns), columns) * self.values.matrix).entries()
        return [sums[position] / divisor for position in positions]

    def rational(self, position: int) -> Fraction | None:
        """Give the mean that all groups of equal logits share, if they do."""
        column = self.values.exact.integers[:, position].tolist()
        means = {Fraction(sum(column[key] for key in keys), len(keys)) for keys in self.row.groups.values()}
        if len(means) > 1:
            return None
        return next(iter(means), Fraction(0)) * Fraction(2) ** self.values.exact.exponent


@dataclass(frozen=True)
class Sum(Quantity):
    """Quantities added position by position, and an exact addend."""

    parts: Sequence[Quantity]
    addend: ExactArray

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose sums."""
        unit = arb((1, self.addend.exponent))
        sums = [arb(self.addend.integers[position]) * unit for position in positions]
        for part in self.parts:
            sums = [added + ball for added, ball in zip(sums, part.balls(positions), strict=True)]
        return sums

    def rational(self, position: int) -> Fraction | None:
        """Give the sum where every part is seen to be rational."""
        result = Fraction(self.addend.integers[position]) * Fraction(2) ** self.addend.exponent
        for part in self.parts:
            rational = part.rational(position)
            if rational is None:
                return None
            result += rational
        return result

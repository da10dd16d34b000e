"""One row of logits, and what is computed from it: weights, logarithm of the sum, means of the values.

A row is computed as ``exp(logit - greatest logit)``, summed, and divided by the sum last. The greatest
logit is found exactly and its exponential is exactly 1, so a single key and equal logits need no rounding
before the division.

When is a result rational? Exponentials of different algebraic numbers are linearly independent over the
rationals (Lindemann and Weierstrass). A weighted mean of exact values is therefore rational only when each
group of equal logits has the same mean value, and then it is that mean. Logits, weights and the logarithm
of a sum need no such rule: where they are dyadic, their balls become exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from flint import arb, arb_mat

from attnspec_reference.oracle.certification import Quantity
from attnspec_reference.oracle.exact import integer_matrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attnspec_reference.oracle.exact import ExactArray
    from attnspec_reference.oracle.logits import ExactLogits, Term


@dataclass(frozen=True)
class SoftmaxRow:
    """One row of logits over its keys.

    Attributes
    ----------
    logits
        The array that the row belongs to.
    terms
        The exact logit of every key.
    counted
        For every key, whether it is in the sum: it may be attended and its logit is finite.
    """

    logits: ExactLogits
    terms: Sequence[Term]
    counted: Sequence[bool]

    @cached_property
    def groups(self) -> dict[Term, list[int]]:
        """The positions of the counted keys, by their exact logit."""
        groups: dict[Term, list[int]] = {}
        for position, (term, counts) in enumerate(zip(self.terms, self.counted, strict=True)):
            if counts:
                groups.setdefault(term, []).append(position)
        return groups

    @cached_property
    def greatest(self) -> Term:
        """The greatest counted logit, or zero when no key is counted."""
        return self.logits.greatest(list(self.groups)) if self.groups else (0, 0)

    def exponentials(self) -> list[arb]:
        """Enclose exp(logit - greatest) of every key; exactly 0 for a key that is not counted."""
        return [
            self.logits.exponential(term, self.greatest) if counts else arb(0)
            for term, counts in zip(self.terms, self.counted, strict=True)
        ]


def total(exponentials: Iterable[arb]) -> arb:
    """Sum the exponentials of a row; 1 for a row without keys, which makes its quotients 0."""
    added = sum(exponentials, arb(0))
    return arb(1) if added.is_zero() else added


@dataclass(frozen=True)
class RowLogits(Quantity):
    """The logits of one row, as numbers to be rounded."""

    logits: ExactLogits
    terms: Sequence[Term]

    def balls(self) -> list[arb]:
        """Enclose every logit."""
        return [self.logits.ball(term) for term in self.terms]


@dataclass(frozen=True)
class RowWeights(Quantity):
    """The softmax weights of one row."""

    row: SoftmaxRow

    def balls(self) -> list[arb]:
        """Enclose every weight."""
        exponentials = self.row.exponentials()
        divisor = total(exponentials)
        return [exponential / divisor for exponential in exponentials]


@dataclass(frozen=True)
class RowLogSumExp(Quantity):
    """The logarithm of the sum of the exponentials of one row."""

    row: SoftmaxRow

    def balls(self) -> list[arb]:
        """Enclose the greatest logit plus the logarithm of the sum."""
        return [self.row.logits.ball(self.row.greatest) + total(self.row.exponentials()).log()]


@dataclass(frozen=True)
class Values:
    """Exact values, (keys, width), ready to be averaged."""

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

    def balls(self) -> list[arb]:
        """Enclose the mean of every column of the values."""
        exponentials = self.row.exponentials()
        divisor = total(exponentials)
        unit = arb((1, self.values.exact.exponent))
        sums = arb_mat(1, len(exponentials), exponentials) * self.values.matrix
        return [entry * unit / divisor for entry in sums.entries()]

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

    def balls(self) -> list[arb]:
        """Enclose every sum."""
        unit = arb((1, self.addend.exponent))
        sums = [arb(integer) * unit for integer in self.addend.integers.tolist()]
        for part in self.parts:
            sums = [added + ball for added, ball in zip(sums, part.balls(), strict=True)]
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

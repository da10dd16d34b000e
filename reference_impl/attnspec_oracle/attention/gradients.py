"""The gradients that one query of attention causes, and sums of them over keys and queries.

Dot products of gradients and values are exact, so balls enter only where the softmax does. When is a gradient rational?
Where all logits of a query are equal its weights are, and so is what comes of them. Where they are not the weights are
not rational, by Lindemann and Weierstrass, but what they multiply may be zero: where each group of equal logits has the
same mean gradient, that is delta, and a logit whose weight has this gradient has none. All else is left to the balls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flint import arb, arb_mat, ctx

from attnspec_oracle.certification import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attnspec_oracle.attention.logits import ExactLogits, Scale, Term
    from attnspec_oracle.attention.rows import SoftmaxRow, Values


class Numbers(NamedTuple):
    """Real numbers, enclosed at the working precision, and as rational numbers where they are seen to be that."""

    balls: Callable[[], Sequence[arb]]
    exact: Callable[[], Sequence[Fraction | None]]


@dataclass(frozen=True)
class QueryGradients:
    """What goes back through the softmax of one query. Columns are the keys and, where there is one, the sink.

    Attributes
    ----------
    row
        The softmax.
    grad_weights
        The gradient of each weight, in units of ``2**exponent``; 0 for a sink, which has no value.
    grad_logsumexp
        The gradient of the logsumexp, in the same units.
    exponent
        The power of two.
    scores, terms
        Where there is a softcap: the array of scores, and the exact score of each key.
    softcap
        The c of ``c * tanh(score / c)``, or 0 for none.
    """

    row: SoftmaxRow
    grad_weights: Sequence[int]
    grad_logsumexp: int
    exponent: int
    scores: ExactLogits
    terms: Sequence[Term]
    softcap: float
    _known: dict[tuple[str, int], list[arb]] = field(
        init=False, repr=False, compare=False, default_factory=dict[tuple[str, int], "list[arb]"]
    )

    def weights(self) -> list[arb]:
        """Enclose the weights."""
        return self._once("weights", self._weights)

    def delta(self) -> list[arb]:
        """Enclose the mean of the gradients of the weights, the only number."""
        return self._once("delta", self._delta)

    def grad_logits(self) -> list[arb]:
        """Enclose the gradients of the logits, and that of the sink."""
        return self._once("grad_logits", self._grad_logits)

    def grad_scores(self) -> list[arb]:
        """Enclose the gradients of the scores."""
        return self._once("grad_scores", self._grad_scores)

    @cached_property
    def exact_weights(self) -> list[Fraction | None]:
        """Give the weights where all logits are equal."""
        groups = self.row.groups
        weight = Fraction(1, len(next(iter(groups.values())))) if len(groups) == 1 else None
        return [weight if counts else Fraction(0) for counts in self.row.counted]

    @cached_property
    def exact_delta(self) -> list[Fraction | None]:
        """Give the mean gradient that all groups of equal logits share, if they do."""
        groups = self.row.groups.values()
        means = {Fraction(sum(self.grad_weights[key] for key in keys), len(keys)) for keys in groups}
        return [next(iter(means), Fraction(0)) * self._unit if len(means) < 2 else None]

    @cached_property
    def exact_grad_logits(self) -> list[Fraction | None]:
        """Give the gradients of the logits where delta and weight are rational, and where they are zero."""
        (delta,) = self.exact_delta
        found: list[Fraction | None] = []
        for counts, weight, gradient in zip(self.row.counted, self.exact_weights, self.grad_weights, strict=True):
            above = None if delta is None else (gradient + self.grad_logsumexp) * self._unit - delta
            if not counts or above == 0:
                found.append(Fraction(0))
            else:
                found.append(None if above is None or weight is None else weight * above)
        return found

    @cached_property
    def exact_grad_scores(self) -> list[Fraction | None]:
        """Give the gradients of the scores where those of the logits are zero, or rational and not bent by a cap."""
        if not self.softcap:
            return self.exact_grad_logits[: len(self.terms)]
        return [
            gradient if gradient == 0 or term == (0, 0) else None
            for gradient, term in zip(self.exact_grad_logits, self.terms, strict=False)
        ]

    @property
    def _unit(self) -> Fraction:
        return Fraction(2) ** self.exponent

    def _once(self, name: str, compute: Callable[[], list[arb]]) -> list[arb]:
        key = (name, ctx.prec)
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def _weights(self) -> list[arb]:
        columns, total = self.row.exponentials()
        return [column / total for column in columns]

    def _delta(self) -> list[arb]:
        columns, total = self.row.exponentials()
        weighted = (arb_mat(1, len(columns), columns) * arb_mat(len(columns), 1, list(self.grad_weights))).entries()
        return [weighted[0] / total * arb((1, self.exponent))]

    def _grad_logits(self) -> list[arb]:
        unit, (delta,) = arb((1, self.exponent)), self.delta()
        return [
            weight * (arb(gradient + self.grad_logsumexp) * unit - delta) if counts else arb(0)
            for weight, gradient, counts in zip(self.weights(), self.grad_weights, self.row.counted, strict=True)
        ]

    def _grad_scores(self) -> list[arb]:
        of_keys = zip(self.grad_logits(), self.terms, self.row.counted, strict=False)
        if not self.softcap:
            return [gradient for gradient, _, _ in of_keys]
        # 1 - tanh(x)**2, without its cancellation
        return [
            gradient / ((self.scores.ball(term) / self.softcap).cosh() ** 2) if counts else arb(0)
            for gradient, term, counts in of_keys
        ]


@dataclass(frozen=True)
class Combination(Quantity):
    """A row of sums: numbers, each times its row of an exact matrix, all times a scale."""

    factors: Numbers
    matrix: Values
    scale: Scale

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose sums."""
        factors = self.factors.balls()
        sums = (arb_mat(1, len(factors), list(factors)) * self.matrix.matrix).entries()
        numerator, denominator = self.scale.multiplier.numerator, self.scale.multiplier.denominator
        scale = arb(self.scale.root).sqrt() * numerator / denominator * arb((1, self.matrix.exact.exponent))
        return [sums[position] * scale for position in positions]

    def rational(self, position: int) -> Fraction | None:
        """Give the sum where every factor is rational that counts, and no root is left in the result."""
        column = self.matrix.exact.integers[:, position].tolist()
        total = Fraction(0)
        for factor, number in zip(self.factors.exact(), column, strict=True):
            if number and self.scale.multiplier:
                if factor is None:
                    return None
                total += factor * number
        if total and self.scale.root != 1:
            return None
        return total * self.scale.multiplier * Fraction(2) ** self.matrix.exact.exponent


@dataclass(frozen=True)
class Totals(Quantity):
    """A row of sums: equally long rows of numbers, added position by position."""

    parts: Sequence[Numbers]

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose sums."""
        rows = [part.balls() for part in self.parts]
        return [sum((row[position] for row in rows), arb(0)) for position in positions]

    def rational(self, position: int) -> Fraction | None:
        """Give the sum where every part is rational."""
        total = Fraction(0)
        for part in self.parts:
            number = part.exact()[position]
            if number is None:
                return None
            total += number
        return total

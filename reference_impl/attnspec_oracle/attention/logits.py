"""Logits before any rounding.

A logit is a dot product times the scale, perhaps passed through a softcap, plus a bias: the mask, ALiBi's
distance. Dot products and biases are dyadic; the scale is rational or, by default, 1/sqrt(width). So every
logit is ``(surd * sqrt(root) + rational) / denominator`` in integers, or with the softcap c
``c * tanh(surd * sqrt(root) / (c * denominator)) + rational / denominator``. Two logits are equal exactly when
their integers are. With a softcap that needs a proof: if ``tanh(x) - tanh(y)`` were a rational r for different
algebraic x and y, then ``r*X*Y + (r-2)*X + (r+2)*Y + r = 0`` for X = exp(2x) and Y = exp(2y), which the linear
independence of exponentials of different algebraic numbers (Lindemann and Weierstrass) does not allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import arb, ctx

from attnspec_oracle.exact import ExactArray, add, exact_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Term: TypeAlias = tuple[int, int]
"""The integers ``(surd, rational)`` of one logit."""

_COMPARISON_PRECISIONS = (64, 256, 1024, 4096)
"""Working precisions in bits at which capped logits are compared; after the last, any of the leaders does."""

_SPARE_BITS = 8
"""More bits of a root than the difference of two logits asks for: that bound leaves out a few factors of 2."""


@dataclass(frozen=True)
class Scale:
    """The exact factor ``multiplier * sqrt(root)``, where no square divides ``root``."""

    multiplier: Fraction
    root: int = 1


def inverse_root(width: int) -> Scale:
    """Give the real number 1/sqrt(width), the default scale."""
    side = next(side for side in range(math.isqrt(width), 0, -1) if width % (side * side) == 0)
    root = width // (side * side)
    return Scale(Fraction(1, side * root), root)


def scale_for(scale: float | None, width: int) -> Scale:
    """Give the scale of an operation: exactly the number stated, or the default for a width."""
    if scale is None:
        if width < 1:
            raise ValueError(f"The default scale 1/sqrt(width) needs a width of at least 1, not {width}.")
        return inverse_root(width)
    if not math.isfinite(scale):
        raise ValueError(f"The scale must be a finite number, not {scale!r}.")
    return Scale(Fraction(scale))


@dataclass(frozen=True)
class ExactLogits:
    """Exact logits, ``capped(surds * sqrt(root) / denominator) + rationals / denominator``.

    Attributes
    ----------
    surds, rationals
        Integers in object arrays of equal shape; every surd is 0 when ``root`` is 1 and there is no softcap.
    root, denominator
        Positive integers that all logits share.
    nonfinite
        float64 of the same shape: 0 where the logit is finite, else the NaN or infinity that it is.
    softcap
        The c of ``c * tanh(score / c)``, or 0 for none.
    """

    surds: NDArray[Any]
    rationals: NDArray[Any]
    root: int
    denominator: int
    nonfinite: NDArray[np.float64]
    softcap: float = 0.0
    _known: dict[tuple[int, ...], arb] = field(
        init=False, repr=False, compare=False, default_factory=dict[tuple[int, ...], arb]
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.surds.shape

    def row(self, index: int) -> list[Term]:
        """Give the terms of a row along the last axis, by its row-major index."""
        at = np.unravel_index(index, self.shape[:-1])
        return list(zip(self.surds[at].tolist(), self.rationals[at].tolist(), strict=True))

    def greatest(self, terms: Sequence[Term]) -> Term:
        """Give the term of the greatest logit, exactly; behind a softcap as far as the precision goes.

        What is subtracted before an exponential cancels in every result, so that a term next to the greatest
        serves as well.
        """
        if self.softcap:
            return self._greatest_capped(terms)
        # A difference a * sqrt(root) + b that is not 0 is at least 1 / (|a| * sqrt(root) + |b|), because
        # a**2 * root - b**2 is an integer. A root with twice the bits of a and b therefore orders the terms.
        bits = _SPARE_BITS + 2 * max(abs(part).bit_length() + self.root.bit_length() for term in terms for part in term)
        root = math.isqrt(self.root << (2 * bits))
        return max(terms, key=lambda term: term[0] * root + (term[1] << bits))

    def _greatest_capped(self, terms: Sequence[Term]) -> Term:
        # tanh is monotone: among equal biases the greatest score wins, and no ball is needed.
        greatest: dict[int, int] = {}
        for surd, rational in terms:
            greatest[rational] = max(surd, greatest.get(rational, surd))
        leaders = [(surd, rational) for rational, surd in greatest.items()]
        for precision in _COMPARISON_PRECISIONS:
            with ctx.workprec(precision):
                balls = {leader: self.ball(leader) for leader in leaders}
            highest = max(balls.values(), key=lambda ball: ball.lower())
            leaders = [leader for leader, ball in balls.items() if not ball < highest]
            if len(leaders) == 1:
                break
        return leaders[0]

    def ball(self, term: Term) -> arb:
        """Enclose a logit at the working precision."""
        surd, rational = term
        if surd == 0:
            return arb(rational) / self.denominator
        root = self._square_root()
        if not self.softcap:
            return (arb(surd) * root + rational) / self.denominator
        key = (ctx.prec, surd)
        if key not in self._known:
            self._known[key] = ((arb(surd) * root) / (arb(self.softcap) * self.denominator)).tanh() * self.softcap
        return self._known[key] + arb(rational) / self.denominator

    def exponential(self, term: Term, subtracted: Term) -> arb:
        """Enclose exp(logit - subtracted logit); exactly 1 when the two are equal."""
        difference = (term[0] - subtracted[0], term[1] - subtracted[1])
        if difference == (0, 0):
            return arb(1)
        if self.softcap:
            return (self.ball(term) - self.ball(subtracted)).exp()
        key = (ctx.prec, *difference)
        if key not in self._known:
            self._known[key] = self.ball(difference).exp()
        return self._known[key]

    def _square_root(self) -> arb:
        key = (ctx.prec,)
        if key not in self._known:
            self._known[key] = arb(self.root).sqrt()
        return self._known[key]


def exact_logits(
    dots: ExactArray, scale: Scale, addends: ExactArray | None = None, softcap: float | None = None
) -> ExactLogits:
    """Scale dot products, pass them through a softcap, and add a bias.

    Parameters
    ----------
    dots
        Any shape.
    scale
        The factor.
    addends
        The bias, of a shape that broadcasts to that of ``dots``, or None.
    softcap
        The c of ``c * tanh(score / c)``; None and 0 leave the scores as they are.

    Raises
    ------
    ValueError
        When the softcap is negative or not finite.
    """
    if softcap is not None and not 0 <= softcap < math.inf:
        raise ValueError(f"The softcap must be a positive number, or 0 or None for no cap, not {softcap!r}.")
    if addends is None:
        addends = ExactArray(np.zeros(dots.shape, dtype=object), 0, np.zeros(dots.shape))
    numerator, denominator = scale.multiplier.numerator, scale.multiplier.denominator
    sign = float((numerator > 0) - (numerator < 0))
    with np.errstate(invalid="ignore"):
        nonfinite = np.where(dots.nonfinite == 0, 0.0, dots.nonfinite * sign)
    finite = dots.integers
    if softcap and np.isinf(nonfinite).any():
        # The cap of an infinite score is the softcap itself, with the sign of the score.
        infinite = np.isinf(nonfinite)
        addends = add(addends, exact_array(np.where(infinite, np.copysign(softcap, nonfinite), 0.0)))
        finite, nonfinite = np.where(infinite, 0, finite), np.where(infinite, 0.0, nonfinite)
    exponent = min(dots.exponent, addends.exponent)
    scaled = finite * (numerator << (dots.exponent - exponent))
    added = np.broadcast_to(addends.integers * (denominator << (addends.exponent - exponent)), dots.shape)
    with np.errstate(invalid="ignore"):
        nonfinite = nonfinite + addends.nonfinite
    surds, rationals = scaled, added
    if scale.root == 1 and not softcap:
        surds, rationals = np.zeros(dots.shape, dtype=object), scaled + added
    return ExactLogits(surds, rationals, scale.root, denominator << -exponent, nonfinite, float(softcap or 0.0))

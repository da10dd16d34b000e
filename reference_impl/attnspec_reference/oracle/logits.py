"""Logits before any rounding.

A logit is a dot product times the scale plus a mask. Dot products and masks are dyadic; the scale is
rational or, by default, 1/sqrt(width). So every logit is ``(surd * sqrt(root) + rational) / denominator``
in integers, and two logits are equal exactly when their integers are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import arb, ctx

from attnspec_reference.oracle.exact import ExactArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Term: TypeAlias = tuple[int, int]
"""The integers ``(surd, rational)`` of one logit."""


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
    """Exact logits, ``(surds * sqrt(root) + rationals) / denominator``.

    Attributes
    ----------
    surds, rationals
        Integers in object arrays of equal shape; every surd is 0 when ``root`` is 1.
    root, denominator
        Positive integers that all logits share.
    nonfinite
        float64 of the same shape: 0 where the logit is finite, else the NaN or infinity that it is.
    """

    surds: NDArray[Any]
    rationals: NDArray[Any]
    root: int
    denominator: int
    nonfinite: NDArray[np.float64]
    _exponentials: dict[tuple[int, int, int], arb] = field(
        init=False, repr=False, compare=False, default_factory=dict[tuple[int, int, int], arb]
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.surds.shape

    def rows(self) -> list[list[Term]]:
        """Give the terms of every row along the last axis, in row-major order."""
        columns = self.shape[-1]
        terms = list(zip(self.surds.ravel().tolist(), self.rationals.ravel().tolist(), strict=True))
        return [terms[row * columns : (row + 1) * columns] for row in range(math.prod(self.shape[:-1]))]

    def greatest(self, terms: Sequence[Term]) -> Term:
        """Give the term of the greatest logit, exactly."""
        # A difference a * sqrt(root) + b that is not 0 is at least 1 / (|a| * sqrt(root) + |b|), because
        # a**2 * root - b**2 is an integer. A root with twice the bits of a and b therefore orders the terms.
        bits = 8 + 2 * max(abs(part).bit_length() + self.root.bit_length() for term in terms for part in term)
        root = math.isqrt(self.root << (2 * bits))
        return max(terms, key=lambda term: term[0] * root + (term[1] << bits))

    def ball(self, term: Term) -> arb:
        """Enclose a logit at the working precision."""
        surd, rational = term
        numerator = arb(rational) if surd == 0 else arb(surd) * arb(self.root).sqrt() + rational
        return numerator / self.denominator

    def exponential(self, term: Term, subtracted: Term) -> arb:
        """Enclose exp(logit - subtracted logit); exactly 1 when the two are equal."""
        difference = (term[0] - subtracted[0], term[1] - subtracted[1])
        if difference == (0, 0):
            return arb(1)
        key = (ctx.prec, *difference)
        if key not in self._exponentials:
            self._exponentials[key] = self.ball(difference).exp()
        return self._exponentials[key]


def exact_logits(dots: ExactArray, scale: Scale, mask: ExactArray | None = None) -> ExactLogits:
    """Scale dot products and add a mask.

    Parameters
    ----------
    dots
        Any shape.
    scale
        The factor.
    mask
        Addends, of a shape that broadcasts to that of ``dots``, or None.
    """
    if mask is None:
        mask = ExactArray(np.zeros(dots.shape, dtype=object), 0, np.zeros(dots.shape))
    numerator, denominator = scale.multiplier.numerator, scale.multiplier.denominator
    exponent = min(dots.exponent, mask.exponent)
    scaled = dots.integers * (numerator << (dots.exponent - exponent))
    added = np.broadcast_to(mask.integers * (denominator << (mask.exponent - exponent)), dots.shape)
    sign = float((numerator > 0) - (numerator < 0))
    with np.errstate(invalid="ignore"):
        nonfinite = np.where(dots.nonfinite == 0, 0.0, dots.nonfinite * sign) + mask.nonfinite
    nothing = np.zeros(dots.shape, dtype=object)
    surds, rationals = (nothing, scaled + added) if scale.root == 1 else (scaled, added)
    return ExactLogits(surds, rationals, scale.root, denominator << -exponent, nonfinite)

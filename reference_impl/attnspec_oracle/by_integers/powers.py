"""The exponentials of one row of logits, and numbers that two ends of an interval agree on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from attnspec_oracle.by_integers.fixed_point import FixedPoint, Interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from attnspec_oracle.by_integers.question import Question

BITS = (192, 1536, 6144)
"""The bits that are tried one after the other, each for what the one before left undecided."""


class Powers(NamedTuple):
    """The exponentials of the groups of a row, less the leading one.

    Attributes
    ----------
    leader
        The group whose power is exactly one.
    greatest
        Its logit.
    of_groups
        The power of each group.
    total
        Their sum, each as often as it has members.
    """

    leader: int
    greatest: Interval
    of_groups: Sequence[Interval]
    total: Interval


def powers_of(question: Question, arithmetic: FixedPoint) -> Powers:
    """Take the exponentials of a row that has at least one group."""
    groups = question.groups
    logits = [_logit(question, group.dot, group.bias, arithmetic) for group in groups]
    leader = max(range(len(groups)), key=lambda index: logits[index].low)
    of_groups = [
        Interval(arithmetic.one, arithmetic.one)
        if index == leader
        else arithmetic.exponential(_difference(question, index, leader, logits, arithmetic))
        for index in range(len(groups))
    ]
    total = Interval(0, 0)
    for group, power in zip(groups, of_groups, strict=True):
        total = total.plus(power.times(group.count))
    return Powers(leader, logits[leader], of_groups, total)


def bent(question: Question, dot: Fraction, arithmetic: FixedPoint) -> Interval:
    """Enclose the hyperbolic tangent of the score over the softcap, of a question that has one."""
    if question.scale is not None:
        inside = arithmetic.enclose(question.scale * dot / question.softcap)
    else:
        inside = arithmetic.product(dot / question.softcap, arithmetic.inverse_root(question.width))
    return arithmetic.hyperbolic_tangent(inside)


def _logit(question: Question, dot: Fraction, bias: Fraction, arithmetic: FixedPoint) -> Interval:
    """Enclose ``scale * dot + bias``, or ``c * tanh(scale * dot / c) + bias``."""
    if not question.softcap:
        if question.scale is not None:
            return arithmetic.enclose(question.scale * dot + bias)
        scaled = arithmetic.product(dot, arithmetic.inverse_root(question.width))
        return scaled.plus(arithmetic.enclose(bias))
    capped = arithmetic.product(question.softcap, bent(question, dot, arithmetic))
    return capped.plus(arithmetic.enclose(bias))


def _difference(
    question: Question, index: int, leader: int, logits: Sequence[Interval], arithmetic: FixedPoint
) -> Interval:
    """Enclose how far a logit is from the leading one."""
    if question.softcap:
        return logits[index].minus(logits[leader])
    group, other = question.groups[index], question.groups[leader]
    return _logit(question, group.dot - other.dot, group.bias - other.bias, arithmetic)


def agreed(low: Fraction, high: Fraction) -> float | None:
    """Give the float64 to which both ends round; None when they disagree."""
    ends = {_rounded(low), _rounded(high)}
    return ends.pop() if len(ends) == 1 else None


def _rounded(number: Fraction) -> float:
    """Round to the nearest float64, ties to even; a zero is +0."""
    try:
        return number.numerator / number.denominator + 0.0
    except OverflowError:
        return math.inf if number > 0 else -math.inf

"""One row of attention, or of two merged parts of it, every number correctly rounded or declared undecided."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec_oracle.by_integers.fixed_point import FixedPoint, Interval
from attnspec_oracle.by_integers.powers import BITS, agreed, powers_of
from attnspec_oracle.by_integers.question import Group, Question, exact, read_question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class AttentionRow(NamedTuple):
    """What one query gets; None stands for a number that stayed undecided.

    Attributes
    ----------
    output
        The mean of the values, (Ev,).
    weights
        The weight of every key, (P+Sk,).
    logsumexp
        The logarithm of the softmax denominator.
    """

    output: list[float | None]
    weights: list[float | None]
    logsumexp: float | None


def attention_row(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], row: tuple[int, int, int]
) -> AttentionRow:
    """Compute one row of ``scaled_dot_product_attention`` (clauses ``sdpa.*``).

    Parameters
    ----------
    inputs, attributes
        Those of the operation; all numbers finite, but for masks, which may hold minus infinity.
    row
        Batch item, query head, query.

    Raises
    ------
    ValueError
        When an input that the row reads is not finite.
    """
    return answered(read_question(inputs, attributes, row), inputs["value"].shape[3])


def answered(question: Question, features: int) -> AttentionRow:
    """Answer a question with as many bits as it needs, up to the most that are tried."""
    if not question.groups:
        return AttentionRow([0.0] * features, [0.0] * len(question.of_key), -math.inf)
    answer = AttentionRow([None] * features, [None] * len(question.of_key), None)
    for bits in BITS:
        answer = _completed(answer, _answer(question, FixedPoint(bits), features))
        if None not in (*answer.output, *answer.weights, answer.logsumexp):
            break
    return answer


def _completed(old: AttentionRow, new: AttentionRow) -> AttentionRow:
    """Fill what was undecided."""
    return AttentionRow(
        [b if a is None else a for a, b in zip(old.output, new.output, strict=True)],
        [b if a is None else a for a, b in zip(old.weights, new.weights, strict=True)],
        new.logsumexp if old.logsumexp is None else old.logsumexp,
    )


def _answer(question: Question, arithmetic: FixedPoint, features: int) -> AttentionRow:
    groups = question.groups
    leader, greatest, powers, total = powers_of(question, arithmetic)
    shares = [_rounded_quotient(power, total, Fraction(0), 1) for power in powers]
    if len(groups) == 1:
        shares = [1 / groups[0].count]
    return AttentionRow(
        output=[_mean(groups, powers, total, feature) for feature in range(features)],
        weights=[0.0 if index is None else shares[index] for index in question.of_key],
        logsumexp=_logsumexp(question, greatest, leader, total, arithmetic),
    )


def _mean(groups: Sequence[Group], powers: Sequence[Interval], total: Interval, feature: int) -> float | None:
    """Round the mean of the values: that of the first group, plus what the others differ from it.

    Where all groups have the same mean nothing is left to add, and the result is exact.
    """
    start = groups[0].sums[feature] / groups[0].count
    surplus = [group.sums[feature] - group.count * start for group in groups]
    unit = math.lcm(*(part.denominator for part in surplus))
    added = Interval(0, 0)
    for part, power in zip(surplus, powers, strict=True):
        added = added.plus(power.times(int(part * unit)))
    return _rounded_quotient(added, total, start, unit)


def _rounded_quotient(dividend: Interval, divisor: Interval, start: Fraction, unit: int) -> float | None:
    """Round ``start + dividend / divisor / unit``, the divisor being positive; None when its ends disagree."""
    low = Fraction(dividend.low, unit * (divisor.low if dividend.low < 0 else divisor.high))
    high = Fraction(dividend.high, unit * (divisor.high if dividend.high < 0 else divisor.low))
    return agreed(start + low, start + high)


def _logsumexp(
    question: Question, greatest: Interval, leader: int, total: Interval, arithmetic: FixedPoint
) -> float | None:
    group = question.groups[leader]
    alone = total == (arithmetic.one, arithmetic.one)
    if alone and (question.scale is not None or group.dot == 0) and (not question.softcap or group.dot == 0):
        exact = (question.scale or 0) * group.dot + group.bias
        return agreed(exact, exact)
    added = greatest.plus(arithmetic.logarithm(total))
    return agreed(Fraction(added.low, arithmetic.one), Fraction(added.high, arithmetic.one))


class MergedRow(NamedTuple):
    """What one row comes to; None stands for a number that stayed undecided.

    Attributes
    ----------
    output
        The mean of both outputs, (Ev,).
    logsumexp
        The logarithm of the softmax denominator of both parts.
    """

    output: list[float | None]
    logsumexp: float | None


def merged_row(inputs: Mapping[str, NDArray[Any]], row: tuple[int, int, int]) -> MergedRow:
    """Compute one row of ``merge_states`` (clauses ``merge.*``).

    Parameters
    ----------
    inputs
        Those of the operation. What a part holds whose logarithm is minus infinity is not read; all else is finite.
    row
        Batch item, head, query.

    Raises
    ------
    ValueError
        When a number that the row reads is not finite.
    """
    width = inputs["output_a"].shape[3]
    # Parts of one and the same logarithm are two keys of one and the same logit.
    members: dict[Fraction, list[list[Fraction]]] = {}
    for side in ("a", "b"):
        logarithm = float(inputs[f"logsumexp_{side}"][row])
        if logarithm != -math.inf:
            members.setdefault(exact(logarithm), []).append([exact(x) for x in inputs[f"output_{side}"][row].tolist()])
    groups = [
        Group(
            Fraction(0),
            logarithm,
            len(parts),
            [sum(of_feature, Fraction(0)) for of_feature in zip(*parts, strict=True)],
        )
        for logarithm, parts in members.items()
    ]
    merged = answered(Question(groups, [], Fraction(1), width, Fraction(0)), width)
    return MergedRow(merged.output, merged.logsumexp)

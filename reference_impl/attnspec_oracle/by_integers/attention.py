"""One query of scaled dot-product attention, every number correctly rounded or declared undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec_oracle.by_integers.fixed_point import FixedPoint, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_BITS = (192, 1536, 6144)
"""The bits that are tried one after the other, each for what the one before left undecided."""


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


@dataclass(frozen=True)
class _Group:
    """Keys of one and the same logit, ``scale * dot`` behind the softcap, plus ``bias``; or the sink."""

    dot: Fraction
    bias: Fraction
    count: int
    sums: Sequence[Fraction]


@dataclass(frozen=True)
class _Question:
    """All that one query asks for, in exact numbers."""

    groups: Sequence[_Group]
    of_key: Sequence[int | None]
    scale: Fraction | None
    width: int
    softcap: Fraction


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
    question = _question(inputs, attributes, row)
    features: int = inputs["value"].shape[3]
    if not question.groups:
        return AttentionRow([0.0] * features, [0.0] * len(question.of_key), -math.inf)
    answer = AttentionRow([None] * features, [None] * len(question.of_key), None)
    for bits in _BITS:
        answer = _completed(answer, _answer(question, FixedPoint(bits), features))
        if None not in (*answer.output, *answer.weights, answer.logsumexp):
            break
    return answer


# Reading the question


def _question(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], row: tuple[int, int, int]
) -> _Question:
    item, head, query = row
    vector = [_exact(number) for number in inputs["query"][item, head, query].tolist()]
    shared = head * inputs["key"].shape[1] // inputs["query"].shape[1]
    keys, values = _tokens(inputs, "key", item, shared), _tokens(inputs, "value", item, shared)
    # Keys with the same dot product and the same bias have the same logit. None stands for the sink.
    members: dict[tuple[Fraction, Fraction], list[int | None]] = {}
    for j, bias in enumerate(_biases(inputs, attributes, row, len(keys))):
        if bias is not None:
            dot = sum((a * _exact(b) for a, b in zip(vector, keys[j], strict=True)), Fraction(0))
            members.setdefault((dot, bias), []).append(j)
    if "sinks" in inputs and not _is_padding(inputs, item, query):
        members.setdefault((Fraction(0), _exact(inputs["sinks"][head])), []).append(None)
    groups: list[_Group] = []
    of_key: list[int | None] = [None] * len(keys)
    for (dot, bias), positions in members.items():
        sums = [Fraction(0)] * inputs["value"].shape[3]
        for j in positions:
            if j is not None:
                sums = [total + _exact(number) for total, number in zip(sums, values[j], strict=True)]
                of_key[j] = len(groups)
        groups.append(_Group(dot, bias, len(positions), sums))
    scale: float | None = attributes.get("scale")
    softcap: float | None = attributes.get("softcap")
    return _Question(groups, of_key, None if scale is None else Fraction(scale), len(vector), Fraction(softcap or 0))


def _tokens(inputs: Mapping[str, NDArray[Any]], name: str, item: int, head: int) -> list[list[float]]:
    """Give the keys or values of a head, past ones first."""
    tokens: list[list[float]] = []
    for part in (f"past_{name}", name):
        if part in inputs:
            tokens += inputs[part][item, head].tolist()
    return tokens


def _biases(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], row: tuple[int, int, int], keys: int
) -> list[Fraction | None]:
    """Give what is added to the score of every key, None for one that may not be attended."""
    item, head, query = row
    past = keys - inputs["key"].shape[2]
    end = int(inputs["key_lengths"][item]) if "key_lengths" in inputs else keys
    count = int(inputs["query_lengths"][item]) if "query_lengths" in inputs else inputs["query"].shape[2]
    at_the_end = attributes.get("causal_alignment", "top_left") == "bottom_right"
    position = query + (end - count if at_the_end else past)
    sides: Sequence[int | None] = attributes.get("window") or (None, None)
    before, after = sides
    first = 0 if before is None else position - before
    last = end - 1 if after is None else min(end - 1, position + after)
    if attributes.get("is_causal", False):
        last = min(last, position)
    if _is_padding(inputs, item, query):
        last = -1
    slope = _exact(inputs["alibi_slopes"][head]) if "alibi_slopes" in inputs else Fraction(0)
    biases: list[Fraction | None] = [-slope * abs(position - j) if first <= j <= last else None for j in range(keys)]
    return biases if "mask" not in inputs else _masked(biases, inputs["mask"], row)


def _masked(biases: list[Fraction | None], mask: NDArray[Any], row: tuple[int, int, int]) -> list[Fraction | None]:
    """Add the row of a mask, or exclude by it."""
    entry: Any = mask
    for axis, index in zip(range(mask.ndim - 1), row[4 - mask.ndim :], strict=True):
        entry = entry[index if mask.shape[axis] > 1 else 0]
    entries: list[bool | float] = entry.tolist()
    return [
        None if bias is None or added is False or added == -math.inf else bias + (0 if added is True else _exact(added))
        for bias, added in zip(biases, entries, strict=True)
    ]


def _is_padding(inputs: Mapping[str, NDArray[Any]], item: int, query: int) -> bool:
    return "query_lengths" in inputs and query >= inputs["query_lengths"][item]


def _exact(number: float) -> Fraction:
    if not math.isfinite(number):
        raise ValueError(f"This oracle takes finite numbers only, not {float(number)!r}.")
    return Fraction(float(number))


# Answering it


def _completed(old: AttentionRow, new: AttentionRow) -> AttentionRow:
    """Fill what was undecided."""
    return AttentionRow(
        [b if a is None else a for a, b in zip(old.output, new.output, strict=True)],
        [b if a is None else a for a, b in zip(old.weights, new.weights, strict=True)],
        new.logsumexp if old.logsumexp is None else old.logsumexp,
    )


def _answer(question: _Question, arithmetic: FixedPoint, features: int) -> AttentionRow:
    groups = question.groups
    logits = [_logit(question, group.dot, group.bias, arithmetic) for group in groups]
    leader = max(range(len(groups)), key=lambda index: logits[index].low)
    powers = [
        Interval(arithmetic.one, arithmetic.one)
        if index == leader
        else arithmetic.exponential(_difference(question, index, leader, logits, arithmetic))
        for index in range(len(groups))
    ]
    total = Interval(0, 0)
    for group, power in zip(groups, powers, strict=True):
        total = total.plus(power.times(group.count))
    shares = [_rounded_quotient(power, total, Fraction(0), 1) for power in powers]
    if len(groups) == 1:
        shares = [1 / groups[0].count]
    return AttentionRow(
        output=[_mean(groups, powers, total, feature) for feature in range(features)],
        weights=[0.0 if index is None else shares[index] for index in question.of_key],
        logsumexp=_logsumexp(question, logits[leader], leader, total, arithmetic),
    )


def _logit(question: _Question, dot: Fraction, bias: Fraction, arithmetic: FixedPoint) -> Interval:
    """Enclose ``scale * dot + bias``, or ``c * tanh(scale * dot / c) + bias``."""
    if not question.softcap:
        if question.scale is not None:
            return arithmetic.enclose(question.scale * dot + bias)
        scaled = arithmetic.product(dot, arithmetic.inverse_root(question.width))
        return scaled.plus(arithmetic.enclose(bias))
    if question.scale is not None:
        inside = arithmetic.enclose(question.scale * dot / question.softcap)
    else:
        inside = arithmetic.product(dot / question.softcap, arithmetic.inverse_root(question.width))
    capped = arithmetic.product(question.softcap, arithmetic.hyperbolic_tangent(inside))
    return capped.plus(arithmetic.enclose(bias))


def _difference(
    question: _Question, index: int, leader: int, logits: Sequence[Interval], arithmetic: FixedPoint
) -> Interval:
    """Enclose how far a logit is from the leading one."""
    if question.softcap:
        return logits[index].minus(logits[leader])
    group, other = question.groups[index], question.groups[leader]
    return _logit(question, group.dot - other.dot, group.bias - other.bias, arithmetic)


def _mean(groups: Sequence[_Group], powers: Sequence[Interval], total: Interval, feature: int) -> float | None:
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
    return _agreed(start + low, start + high)


def _logsumexp(
    question: _Question, greatest: Interval, leader: int, total: Interval, arithmetic: FixedPoint
) -> float | None:
    group = question.groups[leader]
    alone = total == (arithmetic.one, arithmetic.one)
    if alone and (question.scale is not None or group.dot == 0) and (not question.softcap or group.dot == 0):
        exact = (question.scale or 0) * group.dot + group.bias
        return _agreed(exact, exact)
    added = greatest.plus(arithmetic.logarithm(total))
    return _agreed(Fraction(added.low, arithmetic.one), Fraction(added.high, arithmetic.one))


def _agreed(low: Fraction, high: Fraction) -> float | None:
    ends = {_rounded(low), _rounded(high)}
    return ends.pop() if len(ends) == 1 else None


def _rounded(number: Fraction) -> float:
    """Round to the nearest float64, ties to even; a zero is +0."""
    try:
        return number.numerator / number.denominator + 0.0
    except OverflowError:
        return math.inf if number > 0 else -math.inf

"""Every gradient of attention, correctly rounded or declared undecided, by intervals of integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.by_integers.fixed_point import FixedPoint, Interval
from attnspec_oracle.by_integers.powers import BITS, agreed, bent, powers_of
from attnspec_oracle.by_integers.question import exact, is_padding, read_question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_oracle.by_integers.question import Question

_NOTHING = Interval(0, 0)


@dataclass
class _Row:
    """What goes back through one query.

    Attributes
    ----------
    weights, grad_logits, grad_scores
        For each key.
    delta, grad_sink
        What their names say; nothing where there is no sink.
    """

    weights: list[Interval]
    grad_logits: list[Interval]
    grad_scores: list[Interval]
    delta: Interval
    grad_sink: Interval


def attention_gradients(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Compute ``scaled_dot_product_attention_backward`` (clauses ``sdpa_backward.*``).

    Parameters
    ----------
    inputs, attributes
        Those of the operation; all numbers finite, but for masks, which may hold minus infinity. The output and the
        logsumexp of the forward pass are not read.

    Returns
    -------
    dict[str, NDArray]
        Output name to an object array of floats; None stands for a number that stayed undecided.

    Raises
    ------
    ValueError
        When an input that is read is not finite.
    """
    found: dict[str, NDArray[Any]] = {}
    for bits in BITS:
        arithmetic = FixedPoint(bits)
        for name, intervals in _enclosed(inputs, attributes, arithmetic).items():
            known = found.setdefault(name, np.full(intervals.shape, None, dtype=object))
            for index in _undecided(known):
                low, high = intervals[index]
                known[index] = agreed(Fraction(low, arithmetic.one), Fraction(high, arithmetic.one))
        if not any(_undecided(known) for known in found.values()):
            break
    return found


def _undecided(known: NDArray[Any]) -> list[tuple[int, ...]]:
    flat: list[float | None] = known.ravel().tolist()
    return [index for index, number in zip(np.ndindex(known.shape), flat, strict=True) if number is None]


def _enclosed(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], arithmetic: FixedPoint
) -> dict[str, NDArray[Any]]:
    """Enclose every element of every output."""
    query, key, value = (_fractions(inputs[name]) for name in ("query", "key", "value"))
    grad_output = _fractions(inputs["grad_output"])
    batch, heads, queries, width = query.shape
    shared, keys = key.shape[1:3]
    shapes = {
        "grad_query": query.shape,
        "grad_key": key.shape,
        "grad_value": value.shape,
        "delta": (batch, heads, queries),
        "grad_scores": (batch, heads, queries, keys),
        "grad_logits": (batch, heads, queries, keys),
        "grad_sinks": (heads,),
    }
    sums: dict[str, Any] = {name: _zeros(shape) for name, shape in shapes.items()}
    for b, h, i in np.ndindex(batch, heads, queries):
        g = h * shared // heads
        if is_padding(inputs, b, i):
            continue
        row = _row(inputs, attributes, (b, h, i), value[b, g], grad_output[b, h, i], arithmetic)
        sums["delta"][b, h, i] = row.delta
        sums["grad_sinks"][h] = sums["grad_sinks"][h].plus(row.grad_sink)
        for j in range(keys):
            sums["grad_scores"][b, h, i, j], sums["grad_logits"][b, h, i, j] = row.grad_scores[j], row.grad_logits[j]
            for e in range(width):
                _add(sums["grad_query"], (b, h, i, e), arithmetic.product(key[b, g, j, e], row.grad_scores[j]))
                _add(sums["grad_key"], (b, g, j, e), arithmetic.product(query[b, h, i, e], row.grad_scores[j]))
            for e in range(value.shape[3]):
                _add(sums["grad_value"], (b, g, j, e), arithmetic.product(grad_output[b, h, i, e], row.weights[j]))
    for name in ("grad_query", "grad_key"):
        for index in np.ndindex(sums[name].shape):
            sums[name][index] = _scaled(sums[name][index], attributes.get("scale"), width, arithmetic)
    grad_logits, mask = sums.pop("grad_logits"), inputs.get("mask")
    if mask is not None and mask.dtype != np.bool_:
        sums["grad_mask"] = _of_mask(grad_logits, mask.shape)
    if "sinks" not in inputs:
        del sums["grad_sinks"]
    return sums


def _row(
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    index: tuple[int, int, int],
    values: NDArray[Any],
    given: NDArray[Any],
    arithmetic: FixedPoint,
) -> _Row:
    question = read_question(inputs, attributes, index)
    keys = len(question.of_key)
    row = _Row([_NOTHING] * keys, [_NOTHING] * keys, [_NOTHING] * keys, _NOTHING, _NOTHING)
    if not question.groups:
        return row
    powers = powers_of(question, arithmetic)
    shares = [_quotient(power, powers.total, arithmetic) for power in powers.of_groups]
    grad_weights = [sum((a * b for a, b in zip(given, vector, strict=True)), Fraction(0)) for vector in values]
    upstream = exact(float(inputs["grad_logsumexp"][index])) if "grad_logsumexp" in inputs else Fraction(0)
    for j, group in enumerate(question.of_key):
        if group is not None:
            row.weights[j] = shares[group]
            row.delta = row.delta.plus(arithmetic.product(grad_weights[j], shares[group]))
    for j, group in enumerate(question.of_key):
        if group is not None:
            above = arithmetic.enclose(grad_weights[j] + upstream).minus(row.delta)
            row.grad_logits[j] = _multiplied(shares[group], above, arithmetic)
            slope = _slope(question, question.groups[group].dot, arithmetic)
            row.grad_scores[j] = _multiplied(row.grad_logits[j], slope, arithmetic)
    if "sinks" in inputs:
        # The sink is a member of the group whose members are not all keys.
        members = [question.of_key.count(index) for index in range(len(question.groups))]
        own = next(index for index, group in enumerate(question.groups) if group.count > members[index])
        row.grad_sink = _multiplied(shares[own], arithmetic.enclose(upstream).minus(row.delta), arithmetic)
    return row


def _slope(question: Question, dot: Fraction, arithmetic: FixedPoint) -> Interval:
    """Enclose how much a logit moves with its score."""
    one = Interval(arithmetic.one, arithmetic.one)
    if not question.softcap:
        return one
    tangent = bent(question, dot, arithmetic)
    return one.minus(_multiplied(tangent, tangent, arithmetic))


def _of_mask(grad_logits: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Sum over the axes along which a mask was repeated."""
    found = _zeros(shape)
    for index in np.ndindex(grad_logits.shape):
        own = index[4 - len(shape) :]
        _add(found, tuple(0 if length == 1 else at for at, length in zip(own, shape, strict=True)), grad_logits[index])
    return found


def _zeros(shape: tuple[int, ...]) -> Any:
    found = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        found[index] = _NOTHING
    return found


def _fractions(array: NDArray[Any]) -> NDArray[Any]:
    found = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        found[index] = exact(float(array[index]))
    return found


def _add(sums: Any, index: tuple[int, ...], interval: Interval) -> None:
    sums[index] = sums[index].plus(interval)


def _scaled(interval: Interval, scale: float | None, width: int, arithmetic: FixedPoint) -> Interval:
    if scale is not None:
        return arithmetic.product(Fraction(scale), interval)
    return _multiplied(interval, arithmetic.inverse_root(width), arithmetic)


def _quotient(dividend: Interval, divisor: Interval, arithmetic: FixedPoint) -> Interval:
    """Divide what is not negative by what is positive."""
    return Interval(dividend.low * arithmetic.one // divisor.high, -(-dividend.high * arithmetic.one // divisor.low))


def _multiplied(left: Interval, right: Interval, arithmetic: FixedPoint) -> Interval:
    ends = [a * b for a in left for b in right]
    return Interval(min(ends), max(ends)).over(arithmetic.one)

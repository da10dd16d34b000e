"""The tolerance of attention, from query, key and value that may carry errors themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import (
    FEW_TERMS,
    INNER,
    ROUNDED_TWICE,
    as_output,
    denominator_error,
    drift_of_shares,
    exponent_error,
    logarithm_error,
    roundings_of_merges,
    share_error,
    share_interval,
    summation_error,
    summed_by_kind,
    vacuous_shares,
)
from attnspec.bounds.tolerance import Estimate, Interval, Precision, Tolerance
from attnspec.families.attention.steps.attendance import Attendance, attendance, range_of_live_values
from attnspec.families.attention.steps.nonfinite import special_scores
from attnspec.families.attention.steps.rounding_cells import Norms, coherent_norms
from attnspec.families.attention.tolerance.logit_error import (
    NORMATIVE,
    Alternatives,
    ProjectedQuery,
    biased_logits,
    capped_scores,
    largest_factors,
    norm_of_moves,
    repeated,
    scaled_scores,
    with_sink_as_key,
)
from attnspec.families.attention.tolerance.orders_of_summing import error_of_corrections, error_of_lanes

if TYPE_CHECKING:
    from attnspec.families.attention.steps.quantized import Quantization
    from attnspec.families.record import Arrays, Marks


_SQUARES_UNDERFLOW = 300.0
"""From this distance below the maximum on, the square of an exponential times its error underflows."""

_LOWEST = -np.finfo(np.float64).max
"""Stands for the maximum of a row without keys, so that nothing is subtracted from minus infinity."""

_ROUNDINGS_OF_BASE_2 = 2
"""The factor log2(e) and the product with it are each rounded once."""

_INDEPENDENT_CELLS = 2
"""Deviations of a sum of weights that are rounded to the dtype, each cell by itself, before they meet the values."""


@dataclass(frozen=True)
class AttentionTolerance:
    """Float64 values and final tolerances of every output of attention, each computed when it is first read.

    `fully_masked` (B, Hq, Sq): neither key nor sink. Scores are (B, Hq, Sq, K); `not_numbers` make their row NaN. With
    a sink `masked`, `live`, `value` have K + 1: it is a key of value 0, which takes its share of the denominator.
    """

    precision: Precision
    keys: Attendance
    fully_masked: NDArray[np.bool_] | None
    raw: NDArray[Any]
    scaled: Estimate
    masked: Estimate
    live: NDArray[np.bool_]
    all_live: bool
    value: Estimate
    shift: NDArray[Any] | None
    logsumexp_base_2: bool
    factors: Callable[[], NDArray[Any]]
    quantized: Quantization | None = None
    not_numbers: NDArray[np.bool_] | None = None
    projected: ProjectedQuery | None = None

    @property
    def without_mean(self) -> NDArray[np.bool_] | None:
        """Queries (B, Hq, Sq) among the fully masked ones that take no mean of values either; None where none is."""
        return None if self.fully_masked is None else self.fully_masked & ~self.live.any(axis=-1)

    @property
    def without_weight(self) -> NDArray[np.bool_] | None:
        """Queries (B, Hq, Sq) that may attend to keys, all of them of the score minus infinity; None where none is."""
        none = np.logical_and(self.keys.attendable.any(axis=-1), np.logical_not(self.live.any(axis=-1)))
        return none if none.any() else None

    @cached_property
    def scores(self) -> Estimate:
        """Scores after the scale."""
        return as_output(self.scaled, self.precision)

    @cached_property
    def logits(self) -> Estimate:
        """Logits after softcap, biases and exclusion."""
        value = self._without_sink(np.where(self.live, self.masked.value, 0.0))
        error = as_output(Estimate(value, self._without_sink(self.masked.error)), self.precision).error
        return Estimate(value, np.where(self.keys.attendable, error, 0.0))

    @cached_property
    def weights(self) -> Estimate:
        """Shares of the keys."""
        softmax = self.softmax
        moved = 0.0 if self.projected is None else self.projected.moves_of_shares(softmax.shares)
        error = share_error(softmax.shares, softmax.relative, softmax.drift, softmax.logarithm, self.precision, moved)
        return Estimate(self._without_sink(softmax.shares), self._without_sink(error))

    @property
    def vacuous_weights(self) -> NDArray[np.bool_]:
        """Weights whose tolerance says nothing."""
        return vacuous_shares(self.weights)

    @property
    def interval_of_weights(self) -> Interval:
        """Between which numbers every weight lies."""
        softmax = self.softmax
        return share_interval(self.weights, softmax.drift, softmax.logarithm, self.precision)

    @cached_property
    def logsumexp(self) -> Estimate:
        """Logarithms of the denominators."""
        softmax = self.softmax
        value, size = softmax.logsumexp[..., 0], softmax.logarithm[..., 0]
        from_logits = softmax.moved.sum(axis=-1)
        precision = self.precision.at_rank(value.ndim)
        merges = np.broadcast_to(roundings_of_merges(softmax.terms), softmax.logsumexp.shape)[..., 0]
        from_sum = denominator_error(softmax.drift[..., 0], precision) + precision.accumulator * merges * size
        error = INNER * (from_logits + from_sum) + precision.output * size + precision.smallest
        if self.logsumexp_base_2:
            # The factor and the product are each rounded once more.
            value = value * math.log2(math.e)
            error = math.log2(math.e) * (error + _ROUNDINGS_OF_BASE_2 * precision.output * size)
        return Estimate(value, np.where(np.isfinite(value), error, 0.0))

    @cached_property
    def output(self) -> Estimate:
        """Weighted sums of the values.

        The output does not inherit the error of the weights element by element: the part that all weights of a row
        share cancels, so each key's error acts through the distance of its value from the output.
        """
        softmax, value = self.softmax, self.value
        shares = softmax.shares
        output = shares @ value.value
        size, spread = np.abs(output), np.sqrt((shares * shares) @ (value.value * value.value))
        # No share moves by more than 1. By more, last digits of the output would count, in which processors differ.
        moved = np.minimum(softmax.moved, 1.0)
        inner = norm_of_moves(moved, value.value, output, exact=softmax.farthest > _SQUARES_UNDERFLOW)
        if self.projected is not None:
            inner = np.hypot(inner, self.projected.moves_of_output(shares, value.value, output))
        if not value.is_exact:
            inner = inner + np.sqrt((shares * shares) @ (value.error * value.error))
        norms, rounded = Norms(spread, spread), 0.0
        if self.quantized is not None:
            inner = inner + self.quantized.error_of_values(shares, value.value, output, spread)
            rounded = self.quantized.error_of_weights(shares, value.value, output, spread)
        if shares.shape[-1] > FEW_TERMS:
            norms = coherent_norms(shares, value.value, output, spread, self.precision)
            # Drift of the whole sum is allowed for with it: lanes count for their drift beyond that.
            of_lanes = error_of_lanes(shares, value.value, softmax.terms, self.precision)
            inner = inner + np.maximum(of_lanes - softmax.drift * size, 0.0)
            logits = self.masked.value if self.all_live else np.where(self.live, self.masked.value, -np.inf)
            inner = inner + error_of_corrections(logits, shares, value.value, output, softmax.terms, self.precision)
        return Estimate(output, INNER * inner + self._error_of_average(size, norms) + rounded)

    @cached_property
    def vacuous(self) -> NDArray[np.bool_]:
        """Elements of the output whose tolerance says nothing: it exceeds half the range of the live values."""
        lowest, highest = self._live_values
        width = highest - lowest
        # Two comparisons, since a range of 0 makes no tolerance vacuous.
        return (width > 0) & (2 * self.output.error > width)

    @property
    def interval(self) -> Interval:
        """Interval of every element of the output, whatever the weights came to.

        An average lies between the least and the greatest of the live values, but for the roundings of the average.
        """
        (lowest, highest), beyond = self._live_values, self.beyond
        return Interval(lowest - beyond, highest + beyond)

    @cached_property
    def beyond(self) -> NDArray[Any]:
        """How far roundings may carry an average beyond its values, where it is as large as the largest of them."""
        lowest, highest = self._live_values
        farthest = np.maximum(np.abs(lowest), np.abs(highest))
        beyond = self._error_of_average(farthest, Norms(farthest, farthest))
        if self.quantized is not None:
            beyond = beyond + INNER * self.quantized.error_beyond_values(farthest)
            beyond = beyond + self.quantized.error_beyond_weights(self.softmax.shares, self.value.value, farthest)
        if not self.value.is_exact:
            beyond = beyond + INNER * self.value.error.max(axis=-2, keepdims=True, initial=0.0)
        return beyond

    def largest(self, run: int) -> float:
        """Return the largest number that a run can store between its steps."""
        return float(np.ravel(self.precision.largest)[run if np.ndim(self.precision.largest) else 0])

    def overflows(self, run: int) -> NDArray[np.bool_]:
        """Return queries (B, Hq, Sq) of which a run cannot store a scaled query or key, a product, score or logit."""
        largest = self.largest(run)
        size = np.maximum(np.abs(self.raw), np.abs(self.scaled.value))
        logits = self._without_sink(np.where(np.isfinite(self.masked.value), self.masked.value, 0.0))
        return (self.factors() > largest) | np.any(np.maximum(size, np.abs(logits)) > largest, axis=-1)

    def _error_of_average(self, size: NDArray[Any], norms: Norms) -> NDArray[Any]:
        """Return the error of averaging by itself, from the averages' sizes (B, Hq, Sq, Ev) and weighed norms."""
        softmax, precision = self.softmax, self.precision.at_rank(size.ndim)
        inner = (
            summation_error(size, norms.summed, softmax.terms, self.precision, softmax.drift)
            + logarithm_error(softmax.logarithm, precision) * roundings_of_merges(softmax.terms) * size
        )
        # A kernel may round the weights to the dtype before it multiplies them with the values.
        rounded = precision.output * (1 + ROUNDED_TWICE * precision.rounds_between_phases)
        outer = (rounded + precision.output) * size + _INDEPENDENT_CELLS * rounded * norms.rounded
        flushed = precision.smallest * ((softmax.terms > 0) + self.live @ np.abs(self.value.value))
        return INNER * inner + outer + flushed

    @cached_property
    def _live_values(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The least and the greatest value that each query may attend, by feature; NaN where there is none."""
        value = self.value.value
        if self.all_live:
            return value.min(axis=-2)[..., None, :], value.max(axis=-2)[..., None, :]
        return range_of_live_values(value, self.live)

    @cached_property
    def softmax(self) -> Softmax:
        """The softmax over keys and sink."""
        logits = self.masked.value if self.all_live else np.where(self.live, self.masked.value, -np.inf)
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        # In a row without keys every distance is infinite, every exponential 0. In any other the total is at least 1.
        distance = np.maximum(largest, _LOWEST) - logits
        exponentials = np.exp(-distance)
        total = exponentials.sum(axis=-1, keepdims=True)
        shares = exponentials / np.maximum(total, 1.0)
        relative = exponent_error(distance, self.masked.error, self.precision)
        terms = logits.shape[-1] if self.all_live else self.live.sum(axis=-1, keepdims=True, dtype=np.float64)
        drift = drift_of_shares(shares, terms, self.precision)
        farthest = distance.max(initial=0.0, where=self.live)
        logsumexp = largest + np.log(total)
        logarithm = np.where(total > 0, np.abs(logsumexp), 0.0)
        return Softmax(logsumexp, logarithm, shares, relative, shares * relative, terms, drift, farthest)

    def _without_sink(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return what belongs to the keys, without the column of a sink."""
        return columns[..., : self.keys.attendable.shape[-1]]


class Softmax(NamedTuple):
    """The softmax over keys: logsumexp, its absolute value (0 without keys), shares, exponentials' relative errors.

    `moved`: how far these move the shares, were the denominator exact; `terms`: keys in each row; `drift`: that of its
    sums, relative to them; `farthest`: the most that a logit lies below its maximum.
    """

    logsumexp: NDArray[Any]
    logarithm: NDArray[Any]
    shares: NDArray[Any]
    relative: NDArray[Any]
    moved: NDArray[Any]
    terms: NDArray[Any] | int
    drift: NDArray[Any]
    farthest: float


class AttentionBound(Tolerance):
    """Values and tolerances of the outputs of one case of attention, and the elements that declared conventions decide.

    By output: `fully_masked` elements have a query without any key, `without_mean` ones of them no mean of values
    either. `shift` (B, Hq, Sq, 1): how far logits lie above the normative ones; None for not at all.
    """

    def __init__(
        self,
        estimates: Mapping[str, Callable[[], Estimate]],
        vacuous: Mapping[str, Callable[[], NDArray[np.bool_]]] | None = None,
        fully_masked: Marks | None = None,
        *,
        without_mean: Marks | None = None,
        no_keys: bool = False,
        reached: Callable[[], Marks] | None = None,
        compensated: Callable[[], Marks] | None = None,
        open_scores: Callable[[], Marks] | None = None,
        means: Callable[[], Mapping[str, Interval]] | None = None,
        shift: NDArray[Any] | None = None,
        unspecified: Marks | None = None,
        interval: Mapping[str, Callable[[], Interval]] | None = None,
        overflowed: Callable[[int], Marks] | None = None,
        quantized: Quantization | None = None,
        beyond_dequantized: Callable[[], Marks] | None = None,
    ) -> None:
        super().__init__(estimates, vacuous, fully_masked, unspecified=unspecified, interval=interval)
        self.fully_masked = self.by_convention
        self.without_mean: Marks = without_mean or {}
        self.has_no_keys = no_keys
        self.reached: Callable[[], Marks] = reached or dict
        self.compensated: Callable[[], Marks] = compensated or dict
        self.open_scores: Callable[[], Marks] = open_scores or dict
        self.means: Callable[[], Mapping[str, Interval]] = means or dict
        self.shift = shift
        self._overflowed = overflowed
        self.quantized = quantized
        self.beyond_dequantized: Callable[[], Marks] = beyond_dequantized or dict

    def overflowed(self, run: int = 0) -> Marks:
        """Return, by output name, the elements of a run that an overflow between the steps reaches."""
        return {} if self._overflowed is None else self._overflowed(run)


def attention_tolerance(
    query: Estimate,
    key: Estimate,
    value: Estimate,
    precision: Precision,
    inputs: Arrays,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
    past: int = 0,
    unreadable: tuple[NDArray[Any], NDArray[Any]] | None = None,
    query_positions: NDArray[np.int64] | None = None,
    shifted_by: int = 0,
    alternatives: Alternatives = NORMATIVE,
    quantized: Quantization | None = None,
    not_numbers: NDArray[np.bool_] | None = None,
    beside: NDArray[Any] | float = 0.0,
) -> AttentionTolerance:
    """Return values and tolerances of every output of (B, Hq, Sq, E), (B, Hkv, K, E) and (B, Hkv, K, Ev), with past.

    Read from `inputs`: mask, lengths, sinks and slopes. `unreadable`: query and key before 0 replaced NaN and
    infinities; `not_numbers`: scores not finite by earlier projections; `beside`: what else scores are off by;
    `shifted_by`: earlier keys that no query may attend.
    """
    shared = query.value.shape[1] // max(key.value.shape[1], 1)
    if shared != 1:
        key, value = (
            Estimate(repeated(each.value, shared), repeated(each.error, shared), each.is_exact) for each in (key, value)
        )
        quantized = None if quantized is None else quantized.repeated(shared)
    factor = 1 / math.sqrt(query.value.shape[-1]) if scale is None else scale
    raw, scores = scaled_scores(query, key, factor, precision)
    if quantized is not None:
        beside = beside + quantized.error_of_scores(query.value, key.value, scores.value, factor)
    scores = Estimate(scores.value, scores.error + beside)
    keys = attendance(
        scores.value.shape,
        past,
        inputs,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        window=window,
        query_positions=query_positions,
    )
    live, all_live = keys.attendable, keys.everywhere
    logits = capped_scores(scores, softcap, precision) if softcap else scores
    if unreadable is not None:
        special = special_scores(unreadable[0], repeated(unreadable[1], shared), factor, softcap)
        if special is not None:
            logits = Estimate(np.where(*special, logits.value), logits.error)
            live, all_live = live & (logits.value > -np.inf), False
            not_numbers = special[0] & (special[1] == 0)
    shift = None
    if "alibi_slopes" in inputs:
        slopes = np.reshape(inputs["alibi_slopes"], (-1, 1, 1))
        bias = -slopes * keys.distance
        if alternatives.alibi_by_column and is_causal:
            shift = slopes * (keys.position + shifted_by)
            bias = bias + shift
        logits = biased_logits(logits, bias, precision)
    mask = inputs.get("mask")
    if mask is not None and mask.dtype != np.bool_:
        logits = biased_logits(logits, np.where(np.isfinite(mask), mask, 0.0), precision)
        added = np.isnan(mask) | np.isposinf(mask)
        if added.any():
            not_numbers = added if not_numbers is None else not_numbers | added
    sinks = inputs.get("sinks")
    fully_masked = None if all_live or sinks is not None else keys.fully_masked
    if sinks is not None:
        logits, live, value = with_sink_as_key(logits, live, value, sinks, shift, precision)
    elif fully_masked is not None and (alternatives.uniform_rows or alternatives.filled_rows):
        filled = fully_masked[..., None]
        if alternatives.filled_rows and mask is not None and mask.dtype != np.bool_:
            filled = filled & (mask != -np.inf)
        live = live | filled
        logits = Estimate(np.where(filled, 0.0, logits.value), logits.error)
    projected = None
    if not query.is_exact:
        met = summed_by_kind(key.value.swapaxes(-1, -2), query.kinds).swapaxes(-1, -2)
        projected = ProjectedQuery(query.error, met, factor)
    return AttentionTolerance(
        precision,
        keys,
        fully_masked,
        raw,
        scores,
        logits,
        live,
        all_live,
        value,
        shift,
        alternatives.logsumexp_base_2,
        partial(largest_factors, query, key, factor),
        quantized,
        not_numbers,
        projected,
    )

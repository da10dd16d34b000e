"""Logits of attention with the errors that they carry into the softmax, and how far these move its output.

They are products, scaled, softly capped, with biases added; a sink is one more key. The errors of projected keys are
independent of each other; that of a projected query is one error, which all keys meet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import carried_error, norm, summation_error
from attnspec.bounds.tolerance import Estimate, Precision

_LARGEST_SQUARES = 2**20
"""Elements of one head of keys that are squared together."""

_ROUNDINGS_OF_SCALE = 2
"""The scale may be applied after the product, or split over query and key before it: two roundings either way."""

_ROUNDINGS_OF_CAP = 2
"""The hyperbolic tangent and its product with the cap are each rounded once."""

_FLATTEST = 300.0
"""Multiples of the cap from which on its slope, below 1e-260, is taken for one: cosh stays finite when squared."""


_CANCELLATION = 2.0**-30
"""Share of a sum of squares, or of numbers, below which a difference is of digits that differ between processors."""

_TERMS_TOGETHER = 2**22
"""Terms of sums that cancel which are added up together, in 32 MiB a factor."""


class Alternatives(NamedTuple):
    """Declared conventions that change the bound.

    A query without any key takes the mean of all values (`uniform_rows`) or of those a float mask keeps
    (`filled_rows`). `alibi_by_column`: the causal bias is ``slope * j``, not ``-slope * (p - j)``. Dtypes: of
    roundings.
    """

    uniform_rows: bool = False
    filled_rows: bool = False
    alibi_by_column: bool = False
    logsumexp_base_2: bool = False
    dequantized: str | None = None
    quantized_weights: str | None = None


NORMATIVE = Alternatives()


def repeated(heads: NDArray[Any], times: int) -> NDArray[Any]:
    """Return (..., Hkv, S, E) with each head as often as query heads share it."""
    return heads if times == 1 else np.repeat(heads, times, axis=-3)


def scaled_scores(query: Estimate, key: Estimate, factor: float, precision: Precision) -> tuple[NDArray[Any], Estimate]:
    """Products, and scaled scores; the scale may be applied after the product, or split over query and key before."""
    keys = key.value.swapaxes(-1, -2)
    raw = query.value @ keys
    scores = factor * raw
    # The squares of long keys part by part: all of them would take as much memory.
    squares, width = query.value**2, max(1, _LARGEST_SQUARES // max(keys.shape[-2], 1))
    parts = [keys[..., start : start + width] for start in range(0, keys.shape[-1], width)] or [keys]
    products = [squares @ part**2 for part in parts]
    spread = abs(factor) * np.sqrt(products[0] if len(products) == 1 else np.concatenate(products, axis=-1))
    stored = precision.at_rank(scores.ndim).stored * _ROUNDINGS_OF_SCALE * (np.abs(scores) + spread)
    own = stored + summation_error(scores, spread, query.value.shape[-1], precision)
    if query.is_exact and key.is_exact:
        return raw, Estimate(scores, own)
    from_query = carried_error(query.error, keys, query.kinds)
    from_key = carried_error(key.error, query.value.swapaxes(-1, -2), key.kinds).swapaxes(-1, -2)
    return raw, Estimate(scores, abs(factor) * np.hypot(from_query, from_key) + own)


def largest_factors(query: Estimate, key: Estimate, factor: float) -> NDArray[Any]:
    """Return the largest number of each query and of its keys, were the scale applied to one of them."""
    of_queries, of_keys = (np.abs(tokens.value).max(axis=-1, initial=0.0) for tokens in (query, key))
    return abs(factor) * np.maximum(of_queries, of_keys.max(axis=-1, keepdims=True, initial=0.0))


def capped_scores(scores: Estimate, softcap: float, precision: Precision) -> Estimate:
    """Softly capped scores: the slope of the cap shrinks what they carry; tanh and product are rounded."""
    capped = softcap * np.tanh(scores.value / softcap)
    # Where the error reaches across the bend, the steepest slope within it counts.
    nearest = np.maximum(np.abs(scores.value) - scores.error, 0.0) / softcap
    slope = 1 / np.cosh(np.minimum(nearest, _FLATTEST)) ** 2
    own = _ROUNDINGS_OF_CAP * precision.at_rank(capped.ndim).stored * np.abs(capped)
    return Estimate(capped, slope * scores.error + own)


def biased_logits(logits: Estimate, bias: NDArray[Any], precision: Precision) -> Estimate:
    """Logits with a bias added: both the bias and the sum may be rounded."""
    biased = logits.value + bias
    error = logits.error + precision.at_rank(biased.ndim).stored * (
        np.abs(bias) + np.where(np.isfinite(biased), np.abs(biased), 0.0)
    )
    return Estimate(biased, error)


def with_sink_as_key(
    logits: Estimate,
    live: NDArray[np.bool_],
    value: Estimate,
    sinks: NDArray[Any],
    shift: NDArray[Any] | None,
    precision: Precision,
) -> tuple[Estimate, NDArray[np.bool_], Estimate]:
    """Put the sink as one more key behind the others, with a value of 0."""
    sink = sinks.reshape(-1, 1, 1) + (0.0 if shift is None else shift)
    sink = np.broadcast_to(sink, (*live.shape[:-1], 1))
    own = precision.at_rank(sink.ndim).stored * np.abs(sink)
    extended = Estimate(
        np.concatenate([logits.value, sink], axis=-1),
        np.concatenate([logits.error, np.broadcast_to(own, (*logits.error.shape[:-1], 1))], axis=-1),
    )
    values = Estimate(_with_zeros(value.value), _with_zeros(value.error), value.is_exact)
    return extended, np.concatenate([live, np.ones_like(sink, dtype=np.bool_)], axis=-1), values


def _with_zeros(rows: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([rows, np.zeros((*rows.shape[:-2], 1, rows.shape[-1]))], axis=-2)


def norm_of_moves(moved: NDArray[Any], value: NDArray[Any], output: NDArray[Any], *, exact: bool) -> NDArray[Any]:
    """Return how far relative errors of the exponentials move the output: || moved_j (value_j - output) || over j.

    `exact` asks for the slow way, which is needed where squares of `moved` underflow.
    """
    if exact:
        distances = value[..., None, :, :] - output[..., None, :]
        return norm(moved[..., None] * distances, axis=-2)
    # Multiplied out, the sum is three matrix products. Around a typical output little of it cancels; where it does,
    # since rows are far from each other or all values alike, it is added up term by term.
    far_apart = value, output
    typical = output.sum(axis=-2, keepdims=True) / max(output.shape[-2], 1)
    value, output = value - typical, output - typical
    squares = moved * moved
    of_values = squares @ (value * value)
    of_output = output * output * squares.sum(axis=-1, keepdims=True)
    gross = of_values + of_output
    squared = gross - 2 * output * (squares @ value)
    cancelled = np.nonzero(squared < _CANCELLATION * gross)
    together = max(_TERMS_TOGETHER // max(moved.shape[-1], 1), 1)
    for first in range(0, cancelled[0].size, together):
        elements = tuple(axis[first : first + together] for axis in cancelled)
        squared[elements] = _squared_moves(moved, *far_apart, elements)
    return np.sqrt(squared)


def _squared_moves(
    moved: NDArray[Any], value: NDArray[Any], output: NDArray[Any], elements: tuple[NDArray[np.intp], ...]
) -> NDArray[Any]:
    """Return squares of `norm_of_moves` for some elements of the output; no distance is less than its last digits."""
    *heads, row, feature = elements
    batch = np.broadcast_shapes(moved.shape[:-2], output.shape[:-2])
    of_row = np.broadcast_to(moved, (*batch, *moved.shape[-2:]))[(*heads, row)]
    values = np.broadcast_to(value, (*batch, *value.shape[-2:]))[(*heads, slice(None), feature)]
    outputs = np.broadcast_to(output, (*batch, *output.shape[-2:]))[elements][:, None]
    least = _CANCELLATION * np.maximum(np.abs(values), np.abs(outputs))
    moves = of_row * np.maximum(np.abs(values - outputs), least)
    return (moves * moves).sum(axis=-1)


_MOST = 2.0**64
"""A share that moves by so many times itself has no digit left; 0 times an infinity would be NaN."""


@dataclass(frozen=True)
class ProjectedQuery:
    """Absolute errors (B, H, Sq, E) of a query, runs in front where they differ, keys (B, H, K, E), and the scale.

    A feature that is off by d moves every logit by d times that feature of the key, all at once: a share moves by how
    far its key lies from the average key of the row, and an output by how keys and values go together.
    """

    error: NDArray[Any]
    key: NDArray[Any]
    factor: float

    def moves_of_shares(self, shares: NDArray[Any]) -> NDArray[Any]:
        """Return how far each share (B, H, Sq, K) moves, with the runs in front where there are several."""
        moved: Any = 0.0
        for error, key in self._features():
            average = np.vecdot(shares, key)[..., np.newaxis]
            moved = np.hypot(moved, error * (key - average))
        return shares * np.minimum(moved, _MOST)

    def moves_of_output(self, shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any]) -> NDArray[Any]:
        """Return how far each element of the output (B, H, Sq, Ev) moves, runs in front; `shares` (B, H, Sq, K)."""
        moved: Any = 0.0
        # Around a typical output, little of the difference cancels.
        typical = output.sum(axis=-2, keepdims=True) / max(output.shape[-2], 1)
        value, output = value - typical, output - typical
        for error, key in self._features():
            weighed = shares * key
            together = weighed @ value - weighed.sum(axis=-1, keepdims=True) * output
            moved = np.hypot(moved, error * together)
        return moved

    def _features(self) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield, feature by feature, scaled errors (..., B, H, Sq, 1) and keys (B, H, 1, K)."""
        for feature in range(self.key.shape[-1]):
            yield abs(self.factor) * self.error[..., [feature]], self.key[..., np.newaxis, :, feature]

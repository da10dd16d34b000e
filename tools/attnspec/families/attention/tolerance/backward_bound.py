"""Tolerances of the backward pass of attention, and what declared conventions must know beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec.bounds.estimates import exactly
from attnspec.bounds.tolerance import Estimate, Precision, Tolerance
from attnspec.families.attention.steps.nonfinite import NotFinite, not_finite
from attnspec.families.attention.tolerance.error_bound import attention_tolerance
from attnspec.families.attention.tolerance.gradient_error import GradientRange, GradientTolerance, by_mask_element
from attnspec.families.attention.tolerance.logit_error import Alternatives, repeated
from attnspec.families.attention.tolerance.score_gradients import ScoreGradients, Upstream

if TYPE_CHECKING:
    from attnspec.families.record import Arrays


class BackwardBound(Tolerance):
    """Values and tolerances of the gradients of one case.

    `queries_without_keys` (B, Hq, Sq) is None where there are none; `has_no_keys`: there is no key at all.
    """

    def __init__(self, gradients: GradientTolerance, inputs: Arrays) -> None:
        mask = inputs.get("mask")
        self._mask_shape = None if mask is None or mask.dtype == np.bool_ else mask.shape
        self._has_sinks = "sinks" in inputs
        self._spoilt_sinks = np.isnan(inputs["sinks"]) | np.isposinf(inputs["sinks"]) if self._has_sinks else None
        self._gradients = gradients
        forward = gradients.scores.forward
        names = ("grad_query", "grad_key", "grad_value", "delta", "grad_scores", *["grad_sinks"][: self._has_sinks])
        estimates: dict[str, Callable[[], Estimate]] = {name: partial(getattr, gradients, name) for name in names}
        ranges: dict[str, Callable[[GradientRange], NDArray[Any]]] = {
            name: getattr(GradientRange, name) for name in names
        }
        if self._mask_shape is not None:
            estimates["grad_mask"] = partial(gradients.grad_mask, self._mask_shape)
            ranges["grad_mask"] = partial(GradientRange.grad_mask, shape=self._mask_shape)
        self.queries_without_keys = forward.fully_masked
        self.has_no_keys = forward.keys.attendable.shape[-1] == 0
        self._not_finite = not_finite(inputs, gradients.scores.live, gradients.scores.counted[..., 0])
        super().__init__(
            estimates,
            {name: partial(self._vacuous_elements, name, half) for name, half in ranges.items()},
            {} if forward.fully_masked is None else self.affected_elements(forward.fully_masked),
            unspecified=self._unspecified_elements(),
        )

    def elements_of_queries(self, queries: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Return, by output name, the elements that belong to some queries (B, Hq, Sq) and to no other."""
        rows = queries[..., None]
        return {
            "grad_query": np.broadcast_to(rows, self._gradients.query.shape),
            "delta": queries,
            "grad_scores": np.broadcast_to(rows, self._gradients.scores.live.shape),
        }

    def affected_elements(self, queries: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Return, by output name, the elements into which some queries (B, Hq, Sq) go, alone or in a sum."""
        gradients, scores = self._gradients, self._gradients.scores
        found = {**self.elements_of_queries(queries), **self._elements_of_delta(queries)}
        heads = np.any(queries[..., None], axis=-2, keepdims=True)
        for name, numbers in (("grad_key", gradients.key), ("grad_value", scores.value)):
            found[name] = gradients.over_group(np.broadcast_to(heads, numbers.shape).astype(np.float64)) > 0
        return {**found, **self._elements_of_mask(np.broadcast_to(queries[..., None], scores.live.shape))}

    def reached(self) -> dict[str, NDArray[np.bool_]]:
        """Return, by output name, the elements that excluded NaN and infinities affect in plain arithmetic.

        A product of NaN or an infinity and a weight of 0 is in every sum of its heads.
        """
        if self._not_finite is None or not self._not_finite.excluded.any():
            return {}
        batch, heads, queries = self._not_finite.excluded.shape
        groups = self._not_finite.excluded.reshape(batch, self._gradients.key_heads, -1).any(axis=-1)
        shared = heads // self._gradients.key_heads
        return self.affected_elements(np.repeat(np.repeat(groups, shared, axis=1)[..., None], queries, axis=-1))

    def open_scores(self) -> dict[str, NDArray[np.bool_]]:
        """Return, by output name, the elements into which a query goes that has NaN or infinity among its scores."""
        rows = np.zeros(self._gradients.scores.live.shape[:-1], np.bool_)
        if self._not_finite is not None:
            rows |= self._not_finite.scores_nan & self._gradients.scores.live.any(axis=-1)
        if self._spoilt_sinks is not None:
            rows |= self._spoilt_sinks[:, np.newaxis]
        return self.affected_elements(rows) if rows.any() else {}

    def values_of_rows_without_keys(self) -> dict[str, NDArray[np.bool_]]:
        """Return gradients of values that are not finite where a query without any key averages.

        1/n times NaN is NaN; in a row that was masked after it, it is 0.
        """
        if self._not_finite is None or self.queries_without_keys is None:
            return {}
        return {"grad_value": self.affected_elements(self._not_finite.nan & self.queries_without_keys)["grad_value"]}

    def overflowed(self, run: int = 0) -> dict[str, NDArray[np.bool_]]:
        """Return, by output name, the elements of a run into which a query goes that overflows between the steps."""
        scores = self._gradients.scores
        largest = np.ravel(scores.precision.largest)[run if np.ndim(scores.precision.largest) else 0]
        queries = scores.forward.overflows(run) | np.any(np.abs(scores.products.value) > largest, axis=-1)
        queries = queries & scores.counted[..., 0]
        return self.affected_elements(queries) if queries.any() else {}

    def _unspecified_elements(self) -> dict[str, NDArray[np.bool_]]:
        """Return, by output name, elements left open: rows that do not count, and all that a sum's order decides."""
        padding, not_finite = self._gradients.scores.forward.keys.padding, self._not_finite
        found = {} if padding is None else self.elements_of_queries(padding)
        if not_finite is None:
            return found
        live = self._gradients.scores.live
        answered = live.any(axis=-1)
        open_elements = [
            # Without any key, a query with NaN, or whose gradient is NaN, gives 0 or NaN: both are 0 times NaN.
            self.affected_elements(not_finite.scores_infinite | (not_finite.scores_nan & ~answered)),
            self._reached_by(not_finite.gradients_infinite, not_finite.gradients_infinite[..., None] & live),
            self.elements_of_queries(not_finite.nan & ~answered),
            self._elements_of_delta(not_finite.nan & ~answered),
            self._elements_reached_from_excluded(not_finite),
        ]
        for elements in open_elements:
            for name, reached in elements.items():
                found[name] = found[name] | reached if name in found else reached
        return found

    def _reached_by(self, queries: NDArray[np.bool_], scores: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Return the elements of some queries (B, Hq, Sq), and those that some scores (B, Hq, Sq, K) go into."""
        keys = self._by_key(scores)[..., None]
        of_scores = {"grad_scores": scores, "grad_key": keys, "grad_value": keys, **self._elements_of_mask(scores)}
        return {**self.elements_of_queries(queries), **self._elements_of_delta(queries), **of_scores}

    def _elements_of_mask(self, scores: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Return the elements of a float mask's gradient that some scores (B, Hq, Sq, K) go into."""
        if self._mask_shape is None:
            return {}
        return {"grad_mask": np.reshape(np.any(by_mask_element(scores, self._mask_shape), axis=-1), self._mask_shape)}

    def _elements_of_delta(self, queries: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Return delta of some queries and the gradients of their sinks: the sum of nothing, or of 0 times NaN."""
        sinks = {"grad_sinks": np.asarray(np.any(queries, axis=(0, 2)))} if self._has_sinks else {}
        return {"delta": queries, **sinks}

    def _elements_reached_from_excluded(self, not_finite: NotFinite) -> dict[str, NDArray[np.bool_]]:
        """Return what queries with NaN among their scores give to keys that they may not attend to."""
        scores = self._gradients.scores
        excluded = not_finite.scores_nan[..., None] & ~scores.live & scores.counted
        of_keys = (self._by_key(excluded) & ~self._by_key(not_finite.nan[..., None] & scores.live))[..., None]
        return {"grad_scores": excluded, "grad_key": of_keys, "grad_value": of_keys, **self._elements_of_mask(excluded)}

    def _by_key(self, scores: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the keys (B, Hkv, K) that some scores (B, Hq, Sq, K) belong to."""
        return self._gradients.over_group(np.asarray(np.any(scores, axis=-2), np.int64)) > 0

    def _vacuous_elements(self, name: str, half: Callable[[GradientRange], NDArray[Any]]) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            width = half(GradientRange(self._gradients))
            # Two comparisons, since a range of 0 makes no tolerance vacuous.
            return (width > 0) & (self._estimates[name]().error > width)


def backward_tolerance(
    inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> Tolerance:
    """Return values and tolerances of the gradients of a case; `precision` is that of a run, or of several, stacked."""
    query, key, value = (exactly(inputs[name]) for name in ("query", "key", "value"))
    forward = attention_tolerance(
        query,
        key,
        value,
        precision,
        inputs,
        unreadable=None if query.is_whole and key.is_whole else (inputs["query"], inputs["key"]),
        alternatives=alternatives,
        **attributes,
    )
    # Numbers in no sum may be of any size, and must not make the others small beside them.
    padding, attendable = forward.keys.padding, forward.keys.attendable
    counted = np.ones((1, 1, 1, 1), np.bool_) if padding is None else ~padding[..., None]
    attended = np.any(attendable & counted, axis=-2)[..., None]
    shared = query.value.shape[1] // max(key.value.shape[1], 1)

    def of_queries(tensor: NDArray[Any]) -> NDArray[Any]:
        return np.where(counted, exactly(tensor).value, 0.0)

    def of_keys(tensor: Estimate) -> NDArray[Any]:
        return np.where(attended, repeated(tensor.value, shared), 0.0)

    grad_logsumexp = inputs.get("grad_logsumexp")
    upstream = Upstream(
        of_queries(inputs["grad_output"]),
        0.0 if grad_logsumexp is None else of_queries(grad_logsumexp[..., None]),
        "logsumexp" in inputs,
    )
    scale = attributes.get("scale")
    return BackwardBound(
        GradientTolerance(
            precision,
            ScoreGradients(precision, forward, of_keys(value), upstream, attributes.get("softcap")),
            of_queries(query.value),
            of_keys(key),
            1 / math.sqrt(query.value.shape[-1]) if scale is None else scale,
            key.value.shape[1],
        ),
        inputs,
    )

"""The tolerance of latent attention: that of attention, whose queries, keys and values may carry errors of projections.

A right implementation makes keys and values of the latents, or lets queries absorb the matrices of the keys and
multiplies what comes back by those of the values. Each way rounds other tensors, so the bound is the larger of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.estimates import as_output, carried_error, exactly, linear, vacuous_shares
from attnspec.bounds.tolerance import Estimate, Interval, Precision
from attnspec.families.attention.steps.nonfinite import reached_by_infinity, rows_of_open_scores
from attnspec.families.attention.tolerance.error_bound import AttentionBound, AttentionTolerance, attention_tolerance
from attnspec.families.attention.tolerance.logit_error import Alternatives
from attnspec.families.attention.tolerance.marks import means, row_marks, step_marks, unspecified_elements
from attnspec.families.record import Arrays, Marks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

_ROUNDINGS_OF_MAGNITUDE = 2
"""Its square, and the product of that with the root of the width, are each rounded once."""

_LATENT = "output_latent"


def latent_tolerance(
    inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> AttentionBound:
    """Return values and tolerances of the outputs of latent attention."""
    ways = _TwoWays(_Latents(inputs, attributes, precision, alternatives))
    case, from_keys, absorbed = ways.case, ways.from_keys, ways.absorbed
    widths = {"output": inputs["w_value"].shape[-1], _LATENT: case.latent.shape[-1]}

    def larger(output: str) -> Callable[[], Estimate]:
        return lambda: _larger(getattr(from_keys, output), getattr(absorbed, output))

    estimates = {
        "output": ways.output,
        _LATENT: lambda: _larger(ways.weighed_latents.output, absorbed.output),
        **{name: larger(name) for name in ("weights", "logsumexp", "scores", "logits")},
        "present_latent": lambda: exactly(case.latent),
        "present_key_rotary": lambda: exactly(case.key_rotary),
    }
    return _bound(
        case,
        from_keys,
        widths,
        estimates,
        lambda: {**means(from_keys.value.value), _LATENT: means(case.latent[:, np.newaxis])["output"]},
        lambda: _wider(from_keys.interval_of_weights, absorbed.interval_of_weights),
        lambda run: from_keys.overflows(run) | absorbed.overflows(run),
    )


def absorbed_tolerance(
    inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, alternatives: Alternatives
) -> AttentionBound:
    """Return values and tolerances of the outputs of absorbed latent attention, which stores no projection."""
    case = _Latents(inputs, attributes, precision, alternatives)
    result = case.attend(_joined(exactly(case.query), case.query_rotary), case.tokens, case.of_one_head(case.latent))
    estimates: dict[str, Callable[[], Estimate]] = {
        _LATENT: lambda: result.output,
        "weights": lambda: result.weights,
        "logsumexp": lambda: result.logsumexp,
        "scores": lambda: result.scores,
        "logits": lambda: result.logits,
    }
    return _bound(
        case,
        result,
        {_LATENT: case.latent.shape[-1]},
        estimates,
        lambda: {"weights": (found := means(case.latent[:, np.newaxis]))["weights"], _LATENT: found["output"]},
        lambda: result.interval_of_weights,
        result.overflows,
    )


@dataclass(frozen=True)
class _Latents:
    """The inputs of one case, with the past before the new tokens, and what every attention to them is given."""

    inputs: Arrays
    attributes: Mapping[str, Any]
    precision: Precision
    alternatives: Alternatives

    @property
    def query(self) -> NDArray[Any]:
        """Queries (B, H, Sq, Dn or C)."""
        return self.inputs["query_content"] if "query_content" in self.inputs else self.inputs["query_latent"]

    @property
    def query_rotary(self) -> NDArray[Any]:
        """Rotated parts of the queries (B, H, Sq, Dr)."""
        return self.inputs["query_rotary"]

    @cached_property
    def latent(self) -> NDArray[Any]:
        """Latents (B, K, C)."""
        return self._with_past("latent")

    @cached_property
    def key_rotary(self) -> NDArray[Any]:
        """Rotated keys (B, K, Dr)."""
        return self._with_past("key_rotary")

    @cached_property
    def tokens(self) -> Estimate:
        """Latents with rotated keys behind them, as one key head (B, 1, K, C + Dr)."""
        return self.of_one_head(np.concatenate([self.latent, self.key_rotary], axis=-1))

    @property
    def scale(self) -> float:
        """The factor of the dot products."""
        stated = self.attributes.get("scale")
        width = self.query.shape[-1] + self.query_rotary.shape[-1]
        return stated if stated is not None else self.attributes.get("magnitude", 1.0) ** 2 / math.sqrt(width)

    def attend(self, query: Estimate, key: Estimate, value: Estimate) -> AttentionTolerance:
        """Return the bound of attention of some queries to some keys and values, which stand for the case's own."""
        spoilt = ~np.all(np.isfinite(np.concatenate([self.query, self.query_rotary], axis=-1)), axis=-1, keepdims=True)
        not_numbers = spoilt | self.spoilt_tokens
        return attention_tolerance(
            query,
            key,
            value,
            self.precision,
            self.inputs,
            is_causal=self.attributes.get("is_causal", False),
            causal_alignment=self.attributes.get("causal_alignment", "top_left"),
            scale=self.scale,
            past=self.latent.shape[1] - self.inputs["latent"].shape[1],
            alternatives=self.alternatives,
            not_numbers=not_numbers if not_numbers.any() else None,
            beside=self._parts_stored_apart(query, key),
        )

    @cached_property
    def spoilt_tokens(self) -> NDArray[np.bool_]:
        """Tokens (B, 1, 1, K) that hold NaN or infinity."""
        tokens = np.concatenate([self.latent, self.key_rotary], axis=-1)
        return ~np.all(np.isfinite(tokens), axis=-1)[:, np.newaxis, np.newaxis]

    def of_infinity(self, attendable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the queries (B, H, Sq) that an infinity reaches: what it gives depends on the way."""
        query, tokens = self._readable()
        if not (np.isinf(query).any() or np.isinf(tokens).any()):
            return np.zeros(attendable.shape[:-1], dtype=np.bool_)
        return reached_by_infinity(query, tokens, attendable)["logsumexp"]

    def of_open_scores(self, attendable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the queries (B, H, Sq) with NaN or infinity among the scores of attended keys."""
        return rows_of_open_scores(*self._readable(), attendable, self.inputs)

    @staticmethod
    def of_one_head(tokens: NDArray[Any]) -> Estimate:
        """Return tokens (B, K, features) as one key head (B, 1, K, features), without error."""
        return exactly(tokens[:, np.newaxis])

    def _readable(self) -> tuple[NDArray[Any], NDArray[Any]]:
        tokens = np.concatenate([self.latent, self.key_rotary], axis=-1)
        return np.concatenate([self.query, self.query_rotary], axis=-1), tokens[:, np.newaxis]

    def _with_past(self, name: str) -> NDArray[Any]:
        past = self.inputs.get(f"past_{name}")
        return self.inputs[name] if past is None else np.concatenate([past, self.inputs[name]], axis=1)

    def _parts_stored_apart(self, query: Estimate, key: Estimate) -> NDArray[Any]:
        """Return how far scores are off whose two parts are each stored before they are added, and by the scale."""
        width = self.query_rotary.shape[-1]
        parts = [
            np.abs(query.value[..., part] @ key.value[..., part].swapaxes(-1, -2))
            for part in (slice(None, -width or None), slice(query.value.shape[-1] - width, None))
        ]
        precision, factor = self.precision.at_rank(parts[0].ndim), abs(self.scale)
        of_scale = 0 if self.attributes.get("scale") is not None else _ROUNDINGS_OF_MAGNITUDE * precision.accumulator
        return factor * (precision.stored * sum(parts) + of_scale * np.abs(query.value @ key.value.swapaxes(-1, -2)))


@dataclass(frozen=True)
class _TwoWays:
    """Latent attention with the keys and values of every head, and with queries that absorb the matrices of keys."""

    case: _Latents

    @cached_property
    def from_keys(self) -> AttentionTolerance:
        """The bound of attention to keys and values that were made of the latents."""
        case, latents = self.case, _Latents.of_one_head(self.case.latent)
        keys = _by_head(latents, case.inputs["w_key"], case.precision)
        values = _by_head(latents, case.inputs["w_value"], case.precision)
        query = np.concatenate([case.query, case.query_rotary], axis=-1)
        return case.attend(exactly(query), _joined(keys, case.key_rotary[:, np.newaxis]), values)

    @cached_property
    def absorbed(self) -> AttentionTolerance:
        """The bound of attention to the latents themselves."""
        case = self.case
        query = _by_head(exactly(case.query), case.inputs["w_key"].swapaxes(-1, -2), case.precision)
        return case.attend(_joined(query, case.query_rotary), case.tokens, case.of_one_head(case.latent))

    @cached_property
    def weighed_latents(self) -> AttentionTolerance:
        """The bound of means of latents with the weights of the first way."""
        heads = self.from_keys.keys.attendable.shape[1]
        return replace(self.from_keys, value=exactly(np.repeat(self.case.latent[:, np.newaxis], heads, axis=1)))

    def output(self) -> Estimate:
        """Return the means of the values, or of the latents, multiplied by the matrices of the values afterwards."""
        case, attended = self.case, self.absorbed.output
        own = _by_head(exactly(attended.value), case.inputs["w_value"], case.precision)
        before = carried_error(attended.error, exactly(case.inputs["w_value"]).value, None)
        projected = Estimate(own.value, before + as_output(own, case.precision).error)
        return _larger(self.from_keys.output, projected)


def _bound(
    case: _Latents,
    result: AttentionTolerance,
    widths: Mapping[str, int],
    estimates: Mapping[str, Callable[[], Estimate]],
    means_of_all: Callable[[], Mapping[str, Interval]],
    interval_of_weights: Callable[[], Interval],
    overflows: Callable[[int], NDArray[np.bool_]],
) -> AttentionBound:
    """Return the bound of a case, from the estimates of its outputs; `widths` are those of its weighted means."""
    attendable = result.keys.attendable

    def rows(queries: NDArray[np.bool_], marks: Marks) -> Marks:
        """Return marks of queries (B, H, Sq) with the case's own means instead of an output of attention."""
        of_means = {
            name: np.broadcast_to(queries[..., np.newaxis], (*queries.shape, width)) for name, width in widths.items()
        }
        return {**{name: found for name, found in marks.items() if name != "output"}, **of_means}

    def steps(queries: NDArray[np.bool_]) -> Marks:
        return rows(queries, step_marks(result, queries))

    def masked(queries: NDArray[np.bool_] | None) -> Marks:
        return {} if queries is None else rows(queries, row_marks(result, queries))

    unspecified = dict(_spread(unspecified_elements(result), widths))
    for name, found in steps(case.of_infinity(attendable)).items():
        unspecified[name] = unspecified[name] | found if name in unspecified else found
    return AttentionBound(
        estimates,
        {"weights": lambda: vacuous_shares(estimates["weights"]())},
        masked(result.fully_masked),
        without_mean=masked(result.without_mean),
        no_keys=case.latent.shape[1] == 0,
        reached=lambda: steps(np.any(~attendable & case.spoilt_tokens, axis=-1)),
        compensated=lambda: steps(case.of_infinity(attendable)),
        open_scores=lambda: steps(case.of_open_scores(attendable)),
        means=means_of_all,
        unspecified=unspecified,
        interval={"weights": interval_of_weights},
        overflowed=lambda run: steps(overflows(run)),
    )


def _spread(marks: Marks, widths: Mapping[str, int]) -> Marks:
    """Return marks with those of the output of attention at each of the means, all features alike."""
    found = {name: elements for name, elements in marks.items() if name != "output"}
    if "output" in marks:
        rows = np.any(marks["output"], axis=-1, keepdims=True)
        found |= {name: np.broadcast_to(rows, (*rows.shape[:-1], width)) for name, width in widths.items()}
    return found


def _by_head(x: Estimate, weights: NDArray[Any], precision: Precision) -> Estimate:
    """Return tokens (B, 1 or H, S, D) times the matrix of each head (H, D, E), runs in front of errors."""
    alone = x.value.shape[1] == 1
    products = [
        linear(exactly(x.value[:, 0 if alone else head]), exactly(weight), None, precision)
        for head, weight in enumerate(weights)
    ]
    width = weights.shape[-1]
    kinds: NDArray[np.int64] | None = None
    if any(product.kinds is not None for product in products):
        apart = np.arange(int(width), dtype=np.int64)
        kinds = np.stack([apart if each.kinds is None else each.kinds for each in products])
    value = np.stack([product.value for product in products], axis=1)
    return Estimate(value, np.stack([product.error for product in products], axis=-3), kinds=kinds)


def _joined(content: Estimate, rotary: NDArray[Any]) -> Estimate:
    """Return features (B, H, S, D) with rotated ones (B, 1 or H, S, Dr), which carry no error, behind them."""
    exact = exactly(np.broadcast_to(rotary, (*content.value.shape[:-1], rotary.shape[-1]))).value
    none = np.zeros((*content.error.shape[:-1], rotary.shape[-1]))
    kinds = content.kinds
    if kinds is not None:
        own: NDArray[np.int64] = np.arange(int(rotary.shape[-1]), dtype=np.int64) + content.value.shape[-1]
        kinds = np.concatenate([kinds, np.broadcast_to(own, (len(kinds), own.size))], axis=-1)
    return Estimate(
        np.concatenate([content.value, exact], axis=-1),
        np.concatenate([content.error, none], axis=-1),
        content.is_exact,
        kinds=kinds,
    )


def _larger(first: Estimate, second: Estimate) -> Estimate:
    """Return the values of the first with the larger error of both."""
    return Estimate(first.value, np.maximum(first.error, second.error))


def _wider(first: Interval, second: Interval) -> Interval:
    return Interval(np.minimum(first.lowest, second.lowest), np.maximum(first.highest, second.highest))

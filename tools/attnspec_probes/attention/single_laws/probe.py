"""A probe: a call of attention of the diagnosis's own, its expected results part by part, and reading the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.attendance import Attendance, attendance

if TYPE_CHECKING:
    from attnspec_probes import Calling


OPERATION = "scaled_dot_product_attention"

_ERRORS = {"float64": 1e-11, "float32": 2e-5, "bfloat16": 4e-2, "float16": 6e-3}
"""Error of a right result, in units of the largest value and of the largest logit: hundreds of roundings, for probes
are small and moderate. A number of float32 in a float64 result lies a thousand times beyond."""

_LARGEST_LOGIT = 30.0
"""Logits beyond it give weights that show little, and exponentials that narrow dtypes do not hold."""


@dataclass(frozen=True)
class Probe:
    """One call; its inputs are in float64, bool or int64."""

    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]

    @property
    def arguments(self) -> frozenset[str]:
        """The optional arguments that it gives, a past and the attributes of causality each as one."""
        given = set(self.inputs) - {"query", "key", "value", "past_value"}
        said = {name for name, value in self.attributes.items() if _matters(value)}
        return frozenset(given | said)

    def without(self, argument: str) -> Probe:
        """Return the call without an optional argument."""
        gone = {argument, "past_value"} if argument == "past_key" else {argument}
        inputs = {name: array for name, array in self.inputs.items() if name not in gone}
        if argument == "past_key" and "mask" in inputs:
            inputs["mask"] = inputs["mask"][..., self.past :]
        return Probe(inputs, {name: value for name, value in self.attributes.items() if name not in gone})

    def given(self, **inputs: NDArray[Any]) -> Probe:
        """Return the call with other arrays."""
        return replace(self, inputs={**self.inputs, **inputs})

    def said(self, **attributes: Any) -> Probe:
        """Return the call with other attributes."""
        return replace(self, attributes={**self.attributes, **attributes})

    @cached_property
    def past(self) -> int:
        """How many keys come from the past."""
        return self.inputs["past_key"].shape[2] if "past_key" in self.inputs else 0

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """(B, Hq, Sq, P + Sk)."""
        batch, heads, queries, _ = self.inputs["query"].shape
        return batch, heads, queries, self.past + self.inputs["key"].shape[2]

    @property
    def key_heads(self) -> int:
        """How many heads keys have."""
        return self.inputs["key"].shape[1]

    @cached_property
    def key(self) -> NDArray[Any]:
        """Past and new keys (B, Hkv, P + Sk, E)."""
        return self._whole("key")

    @cached_property
    def value(self) -> NDArray[Any]:
        """Past and new values (B, Hkv, P + Sk, Ev)."""
        return self._whole("value")

    def _whole(self, name: str) -> NDArray[Any]:
        parts = [self.inputs[each] for each in (f"past_{name}", name) if each in self.inputs]
        return np.concatenate(parts, axis=2)

    def with_values(self, value: NDArray[Any]) -> Probe:
        """Return the call with other values (B, Hkv, P + Sk, Ev), the first of which are past ones."""
        inputs = {**self.inputs, "value": value[:, :, self.past :]}
        if self.past or "past_value" in inputs:
            inputs["past_value"] = value[:, :, : self.past]
        return replace(self, inputs=inputs)

    @cached_property
    def placing(self) -> Attendance:
        """Which keys may be attended."""
        names = ("is_causal", "causal_alignment", "window")
        said = {name: self.attributes[name] for name in names if name in self.attributes}
        return attendance(self.shape, self.past, self.inputs, **said)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Queries (B, Hq, Sq) whose results count."""
        padding = self.placing.padding
        return np.ones(self.shape[:3], dtype=np.bool_) if padding is None else ~padding

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Queries (B, Hq, Sq) that count and may attend to some key."""
        return self.counted & self.placing.attendable.any(axis=-1)

    @property
    def scale(self) -> float:
        """The expected factor of the scores."""
        said = self.attributes.get("scale")
        return 1 / math.sqrt(self.inputs["query"].shape[-1]) if said is None else float(said)

    @cached_property
    def heads(self) -> NDArray[np.int64]:
        """The key head of each query head (Hq)."""
        return np.arange(self.shape[1]) // (self.shape[1] // self.key_heads)

    @cached_property
    def products(self) -> NDArray[Any]:
        """Dot products (B, Hq, Sq, P + Sk)."""
        return self.products_by(self.heads)

    def products_by(self, heads: NDArray[np.int64]) -> NDArray[Any]:
        """Return the dot products with the key heads that each query head would read."""
        return np.einsum("bhqe,bhke->bhqk", self.inputs["query"], self.key[:, heads])

    @property
    def scores(self) -> NDArray[Any]:
        """Dot products times the scale."""
        return self.products * self.scale

    @property
    def softcap(self) -> float:
        """The bound of the scores; 0 for none."""
        return float(self.attributes.get("softcap") or 0.0)

    def capped(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return the scores that a softcap leaves."""
        return self.softcap * np.tanh(scores / self.softcap) if self.softcap else scores

    @cached_property
    def bias(self) -> NDArray[Any]:
        """Bias of ALiBi on the logits, which broadcasts."""
        slopes = self.inputs.get("alibi_slopes")
        if slopes is None:
            return np.zeros((1, 1, 1, 1))
        return -slopes.reshape(-1, 1, 1) * self.placing.distance

    @cached_property
    def mask(self) -> NDArray[Any]:
        """Bias of a float mask where it does not exclude, which broadcasts."""
        mask = self.inputs.get("mask")
        if mask is None or mask.dtype == np.bool_:
            return np.zeros((1, 1, 1, 1))
        return np.where(mask == -np.inf, 0.0, mask)

    @property
    def has_float_mask(self) -> bool:
        """Whether a mask of numbers is given."""
        return "mask" in self.inputs and self.inputs["mask"].dtype != np.bool_

    @cached_property
    def logits(self) -> NDArray[Any]:
        """Expected logits, those of excluded keys, too."""
        return self.capped(self.scores) + self.bias + self.mask

    @cached_property
    def weights(self) -> NDArray[Any]:
        """Expected weights."""
        return self.weights_of(self.logits, self.placing.attendable)

    def weights_of(self, logits: NDArray[Any], attendable: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the weights that other logits, and other keys, would get."""
        logits = np.where(attendable, logits, -np.inf)
        sinks = self.inputs.get("sinks")
        added = np.full((1, 1, 1), -np.inf) if sinks is None else sinks.reshape(1, -1, 1)
        largest = np.maximum(logits.max(axis=-1, initial=-np.inf), added)
        largest = np.where(np.isfinite(largest), largest, 0.0)
        exponentials = np.exp(logits - largest[..., np.newaxis])
        total = exponentials.sum(axis=-1) + np.exp(added - largest)
        return exponentials / np.where(total == 0, 1.0, total)[..., np.newaxis]

    @cached_property
    def output(self) -> NDArray[Any]:
        """Expected output."""
        return self.output_of(self.weights)

    def output_of(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the output that weights give."""
        return weights @ self.value[:, self.heads]

    def output_by(self, logits: NDArray[Any], attendable: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Return the output that other logits give, and other keys where they are named."""
        return self.output_of(self.weights_of(logits, self.placing.attendable if attendable is None else attendable))

    @property
    def offsets(self) -> list[int]:
        """How many keys something may lie off, in either direction, the fewest first."""
        return [off for keys in range(1, self.shape[3] + 1) for off in (-keys, keys)]

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite, but for minus infinity in a mask."""
        inputs = (array for name, array in self.inputs.items() if name != "mask" and array.dtype.kind == "f")
        return all(np.isfinite(array).all() for array in inputs) and bool(np.isfinite(self.mask).all())

    @property
    def is_moderate(self) -> bool:
        """Whether no weight vanishes, and no exponential overflows."""
        return bool(np.abs(self.logits).max(initial=0.0) < _LARGEST_LOGIT)

    def ask(self, calling: Calling, dtype: str) -> NDArray[Any] | None:
        """Return the output that comes back, or None where nothing of its shape does."""
        answer = calling(OPERATION, dtype, self.inputs, self.attributes)
        return self.output_in(answer)

    def output_in(self, answer: Mapping[str, NDArray[Any]] | None) -> NDArray[Any] | None:
        """Return the output of an answer; None where it has none of the expected shape."""
        output = None if answer is None else answer.get("output")
        expected = (*self.shape[:3], self.inputs["value"].shape[-1])
        return output if output is not None and output.shape == expected else None

    def slack(self, dtype: str) -> float:
        """Return how far a right element may lie from ours."""
        logits = np.abs(self.logits[self.placing.attendable]).max(initial=1.0)
        return _ERRORS[dtype] * max(1.0, float(logits)) * float(np.abs(self.value).max(initial=1e-300))

    def wrong(self, output: NDArray[Any] | None, dtype: str) -> NDArray[np.bool_]:
        """Return the queries (B, Hq, Sq) whose output is wrong; rows without keys are left to declared conventions."""
        if output is None:
            return self.live
        with np.errstate(invalid="ignore"):
            near = (np.abs(output - self.output) <= self.slack(dtype)).all(axis=-1)
        return self.live & ~near

    def fails(self, calling: Calling, dtype: str) -> bool:
        """Call, and return whether something comes back wrong."""
        return bool(self.wrong(self.ask(calling, dtype), dtype).any())


def _matters(value: Any) -> bool:
    """Return whether an attribute says something, and not what holds without it."""
    return value is not None and value is not False and value != "top_left"


class Reading(NamedTuple):
    """Weights (B, Hq, Sq, P + Sk) that a probe read, and `sources` (B, Hq, Sq, B, Hkv): batch entries and key heads.

    A row of `sources` sums to the sum of its weights.
    """

    probe: Probe
    weights: NDArray[Any]
    sources: NDArray[Any]


def read(probe: Probe, calling: Calling, dtype: str, *, wider: int = 0) -> Reading | None:
    """Call with values that show weights and sources, and `wider` features of zeros; None if nothing comes back.

    Rows of the identity show the weights; each batch entry and head has a mark of its own beside them.
    """
    batch, heads, queries, keys = probe.shape
    marks = batch * probe.key_heads
    value = np.zeros((batch, probe.key_heads, keys, keys + marks + wider))
    value[..., :keys] = np.eye(keys)
    for mark in range(marks):
        value[mark // probe.key_heads, mark % probe.key_heads, :, keys + mark] = 1.0
    marked = probe.with_values(value)
    output = marked.ask(calling, dtype)
    if output is None:
        return None
    sources = output[..., keys : keys + marks].reshape(batch, heads, queries, batch, probe.key_heads)
    return Reading(marked, output[..., :keys], sources)


def resized(probe: Probe, queries: int, keys: int) -> Probe:
    """Return a call of other extents whose queries and new keys are those of this one, again and again."""
    of_query, of_key = np.arange(queries) % probe.shape[2], np.arange(keys) % probe.inputs["key"].shape[2]
    inputs: dict[str, NDArray[Any]] = {}
    for name, array in probe.inputs.items():
        match name:
            case "query":
                inputs[name] = array[:, :, of_query]
            case "key" | "value":
                inputs[name] = array[:, :, of_key]
            case "mask":
                columns = np.concatenate([np.arange(probe.past), probe.past + of_key])
                rows = of_query if array.shape[-2] > 1 else np.zeros(1, dtype=np.int64)
                inputs[name] = array[..., rows, :][..., columns]
            case _:
                inputs[name] = array
    return Probe(inputs, probe.attributes)

"""At which step, and to which precision, something was rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attnspec.contract.dtypes import to_run_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from numpy.typing import NDArray

    from attnspec_probes.attention.single_laws.probe import Probe

_DROP = 30.0
"""A rounding explains what is wrong where with it the error is so many times smaller."""

_LARGEST = 0.1
"""An error above this, in units of the values, is no rounding: scores of bfloat16 give 2e-2."""

_FEWEST_BITS = 7
"""Fewer than bfloat16 has are no precision; a number that happens to be rounded to so few is something else."""

_LARGEST_OF_FLOAT16 = 6e4
"""Larger numbers are infinite there, which is no rounding."""


class RoundingLaw(NamedTuple):
    """A step whose result was rounded, such as ``scores``, or cut off; the error is `drop` times smaller with it.

    `bits` are those left of the significand: 24 for float32, 11 for float16, 8 for bfloat16.
    """

    step: str
    bits: int
    is_cut: bool
    drop: float


def rounding_law(probe: Probe, output: NDArray[Any], dtype: str) -> RoundingLaw | None:
    """Return the rounding that explains a small error of an output; None where none does, or the error is not small."""
    live = probe.live
    with np.errstate(invalid="ignore"):
        error = np.abs(output - probe.output)[live].max(initial=0.0)
    scale = float(np.abs(probe.value).max(initial=1e-300))
    if not np.isfinite(error) or not probe.slack(dtype) < error <= _LARGEST * scale:
        return None
    found: list[RoundingLaw] = []
    for bits in range(_FEWEST_BITS, 53 if dtype == "float64" else 23):
        if 2.0 ** -(bits + 12) * scale > error or 2.0 ** (9 - bits) * scale < error:
            continue
        for by in (np.rint, np.trunc):
            for step, rounded in _rounded(probe, bits, by):
                left = np.abs(output - rounded)[live].max(initial=0.0)
                found.append(RoundingLaw(step, bits, by is np.trunc, float(error / max(left, 1e-300))))
    best = max(found, key=lambda law: law.drop, default=None)
    return best if best is not None and best.drop >= _DROP else None


def looks_rounded(probe: Probe, output: NDArray[Any], dtype: str) -> int | None:
    """Return about how many bits an error of the size of a rounding leaves; None for a larger or a right one."""
    with np.errstate(invalid="ignore"):
        error = float(np.abs(output - probe.output)[probe.live].max(initial=0.0))
    scale = float(np.abs(probe.value).max(initial=1e-300))
    if not np.isfinite(error) or not probe.slack(dtype) < error <= 2e-3 * scale:
        return None
    return round(-np.log2(error / scale))


def round_to_bits(array: NDArray[Any], bits: int, by: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
    """Round to so many significant bits, as the dtypes of 24, 11 and 8 of them do; `by` rounds to whole numbers."""
    named = {24: "float32", 11: "float16", 8: "bfloat16"}.get(bits)
    if named is not None and by is np.rint and np.abs(array).max(initial=0.0) < _LARGEST_OF_FLOAT16:
        return to_run_dtype(array, named).astype(np.float64)
    fraction, exponent = np.frexp(array)
    return np.ldexp(by(np.ldexp(fraction, bits)), exponent - bits)


def _rounded(
    probe: Probe, bits: int, by: Callable[[NDArray[Any]], NDArray[Any]]
) -> Generator[tuple[str, NDArray[Any]]]:
    """Give the output with each step rounded."""

    def rounded(array: NDArray[Any]) -> NDArray[Any]:
        return round_to_bits(array, bits, by)

    attendable = probe.placing.attendable
    query, key = rounded(probe.inputs["query"]), rounded(probe.key)
    for step, rounds_query, rounds_key in (("query and key", True, True), ("query", True, False), ("key", False, True)):
        products = np.einsum(
            "bhqe,bhke->bhqk",
            query if rounds_query else probe.inputs["query"],
            (key if rounds_key else probe.key)[:, probe.heads],
        )
        logits = probe.capped(products * probe.scale) + probe.bias + probe.mask
        yield step, probe.output_of(probe.weights_of(logits, attendable))
    scale = rounded(np.array([probe.scale]))[0]
    logits = probe.capped(probe.products * scale) + probe.bias + probe.mask
    yield "scale", probe.output_of(probe.weights_of(logits, attendable))
    if probe.has_float_mask:
        logits = probe.capped(probe.scores) + probe.bias + rounded(probe.mask)
        yield "mask", probe.output_of(probe.weights_of(logits, attendable))
    if "alibi_slopes" in probe.inputs:
        logits = probe.capped(probe.scores) + rounded(probe.bias) + probe.mask
        yield "distance", probe.output_of(probe.weights_of(logits, attendable))
    if "sinks" in probe.inputs:
        yield "sinks", probe.given(sinks=rounded(probe.inputs["sinks"])).output
    yield "value", probe.weights @ rounded(probe.value)[:, probe.heads]
    scores = probe.capped(rounded(probe.scores)) + probe.bias + probe.mask
    yield "scores", probe.output_of(probe.weights_of(scores, attendable))
    products = probe.capped(rounded(probe.products) * probe.scale) + probe.bias + probe.mask
    yield "scores", probe.output_of(probe.weights_of(products, attendable))
    yield "logits", probe.output_of(probe.weights_of(rounded(probe.logits), attendable))
    yield "weights", probe.output_of(rounded(probe.weights))
    largest = np.where(attendable, probe.logits, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    shifted = np.where(attendable, probe.logits - np.where(np.isfinite(largest), largest, 0.0), -np.inf)
    exponentials = rounded(np.exp(shifted))
    if "sinks" not in probe.inputs:
        total = exponentials.sum(axis=-1, keepdims=True)
        yield "exponentials", probe.output_of(exponentials / np.where(total == 0, 1.0, total))
        exact = np.exp(shifted)
        total = exact.sum(axis=-1, keepdims=True)
        yield "exponentials", probe.output_of(rounded(exact) / np.where(total == 0, 1.0, total))
        yield "sums", probe.output_of(exact / rounded(np.where(total == 0, 1.0, total)))
    yield "logits", probe.output_of(probe.weights_of(rounded(shifted), attendable))
    yield "output", rounded(probe.output)

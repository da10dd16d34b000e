"""At which step, and to which precision, something was rounded."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import to_run_dtype
from attnspec_probes.attention.single_laws.probe import Probe

_DROP = 30.0
"""A rounding explains what is wrong where with it the error is so many times smaller."""

_LARGEST = 0.1
"""An error above this, in units of the values, is no rounding: scores of bfloat16 give 2e-2."""

_LARGEST_NOISE = 2e-3
"""The same where no step explains the error: beyond it, too few bits are left to speak of a rounding."""

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


def _small_error(probe: Probe, output: NDArray[Any], dtype: str, largest: float) -> tuple[float, float] | None:
    """Return the error of an output and the scale of the values; None where it is right, or not that small."""
    with np.errstate(invalid="ignore"):
        error = float(np.abs(output - probe.output)[probe.live].max(initial=0.0))
    scale = float(np.abs(probe.value).max(initial=1e-300))
    return (error, scale) if np.isfinite(error) and probe.slack(dtype) < error <= largest * scale else None


def rounding_law(probe: Probe, output: NDArray[Any], dtype: str) -> RoundingLaw | None:
    """Return the rounding that explains a small error of an output; None where none does, or the error is not small."""
    found = _small_error(probe, output, dtype, _LARGEST)
    if found is None:
        return None
    error, scale = found
    laws: list[RoundingLaw] = []
    for bits in range(_FEWEST_BITS, 53 if dtype == "float64" else 23):
        if 2.0 ** -(bits + 12) * scale > error or 2.0 ** (9 - bits) * scale < error:
            continue
        for by in (np.rint, np.trunc):
            for step, rounded in _rounded(probe, bits, by):
                left = np.abs(output - rounded)[probe.live].max(initial=0.0)
                laws.append(RoundingLaw(step, bits, by is np.trunc, float(error / max(left, 1e-300))))
    best = max(laws, key=lambda law: law.drop, default=None)
    return best if best is not None and best.drop >= _DROP else None


def looks_rounded(probe: Probe, output: NDArray[Any], dtype: str) -> int | None:
    """Return about how many bits an error of the size of a rounding leaves; None for a larger or a right one."""
    found = _small_error(probe, output, dtype, _LARGEST_NOISE)
    return None if found is None else round(-np.log2(found[0] / found[1]))


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
    bias, mask = probe.bias, probe.mask
    query, key = rounded(probe.inputs["query"]), rounded(probe.key)
    for step, rounds_query, rounds_key in (("query and key", True, True), ("query", True, False), ("key", False, True)):
        products = np.einsum(
            "bhqe,bhke->bhqk",
            query if rounds_query else probe.inputs["query"],
            (key if rounds_key else probe.key)[:, probe.heads],
        )
        yield step, probe.output_by(probe.capped(products * probe.scale) + bias + mask)
    scale = rounded(np.array([probe.scale]))[0]
    yield "scale", probe.output_by(probe.capped(probe.products * scale) + bias + mask)
    scores = probe.capped(probe.scores)
    if probe.has_float_mask:
        yield "mask", probe.output_by(scores + bias + rounded(mask))
    if "alibi_slopes" in probe.inputs:
        yield "distance", probe.output_by(scores + rounded(bias) + mask)
    if "sinks" in probe.inputs:
        yield "sinks", probe.given(sinks=rounded(probe.inputs["sinks"])).output
    yield "value", probe.weights @ rounded(probe.value)[:, probe.heads]
    yield "scores", probe.output_by(probe.capped(rounded(probe.scores)) + bias + mask)
    yield "scores", probe.output_by(probe.capped(rounded(probe.products) * probe.scale) + bias + mask)
    yield "logits", probe.output_by(rounded(probe.logits))
    yield "weights", probe.output_of(rounded(probe.weights))
    largest = np.where(attendable, probe.logits, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    shifted = np.where(attendable, probe.logits - np.where(np.isfinite(largest), largest, 0.0), -np.inf)
    if "sinks" not in probe.inputs:
        exact = np.exp(shifted)
        for exponentials, summed in ((rounded(exact), rounded(exact)), (rounded(exact), exact)):
            total = summed.sum(axis=-1, keepdims=True)
            yield "exponentials", probe.output_of(exponentials / np.where(total == 0, 1.0, total))
        total = exact.sum(axis=-1, keepdims=True)
        yield "sums", probe.output_of(exact / rounded(np.where(total == 0, 1.0, total)))
    yield "logits", probe.output_by(rounded(shifted))
    yield "output", rounded(probe.output)

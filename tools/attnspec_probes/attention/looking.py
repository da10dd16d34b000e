"""One call that goes wrong: its weights are read, and laws are looked for, in the order in which they hide others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import Finding, clause, part
from attnspec_probes.attention.from_keys import from_fill, from_keys
from attnspec_probes.attention.from_logits import from_logits
from attnspec_probes.attention.from_totals import from_heads, from_tiles, from_total, from_values
from attnspec_probes.attention.single_laws.attended_laws import of_mask
from attnspec_probes.attention.single_laws.probe import Probe, read
from attnspec_probes.attention.single_laws.rounding_laws import looks_rounded, rounding_law

if TYPE_CHECKING:
    from attnspec_probes import Calling

_BITS = {"float64": 53, "float32": 24}

_CALM = 3.0
"""The largest score of a call that is made moderate."""

_LOWEST_READ, _NUMBERS, _STEP = 28.0, 57, 23
"""The mask at which a key, beside one of 0, still gets a share that can be read; how many such numbers are tried; and
how many of them lie between neighbours."""


def look(probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    """Return findings of a minimal failing call: laws that all give its weights, or else clauses that it may break."""
    calm = _calmed(probe)
    if calm is not probe and not calm.fails(calling, dtype):
        reading = read(calm, calling, dtype)
        # A share that is too small to matter beside moderate scores shows why it does beside large ones.
        fill = [] if reading is None else from_fill(reading, dtype)
        return fill or _graded(calm, calling, dtype) or [_of_size(probe)]
    return _laws(calm, calling, dtype) or [part(calm)]


def _graded(probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    """Return findings of a mask of many numbers, whose lowest ones still get a share that can be read."""
    # Out of order: numbers that rise along the keys hide behind keys that are lost at an end.
    order = np.arange(_NUMBERS) * _STEP % _NUMBERS
    graded = of_mask(np.linspace(-_LOWEST_READ, 0.0, _NUMBERS)[order])
    return _laws(graded, calling, dtype) if probe.has_float_mask and graded.fails(calling, dtype) else []


def _laws(probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    output = probe.ask(calling, dtype)
    rounded = [] if output is None else _rounded(probe, output, dtype)
    if rounded:
        return rounded
    reading = read(probe, calling, dtype)
    if reading is None:
        return []
    # A tile that is cut or merged wrongly looks like lost keys, or a mass, in short rows; so long ones come before.
    return (
        from_heads(reading, dtype)
        or from_tiles(probe, calling, dtype)
        or from_keys(reading, calling, dtype)
        or from_logits(reading, calling, dtype)
        or from_total(reading, dtype)
        or from_values(reading, dtype)
        or ([] if output is None else _noise(probe, output, dtype))
    )


def _calmed(probe: Probe) -> Probe:
    """Return the call with smaller scores, mask and slopes, where its logits are large."""
    if probe.is_moderate:
        return probe

    def smaller(array: NDArray[Any], largest: float) -> NDArray[Any]:
        beyond = float(np.abs(np.where(np.isfinite(array), array, 0.0)).max(initial=0.0)) / largest
        return array / beyond if beyond > 1 else array

    scores = float(np.abs(probe.scores).max(initial=0.0))
    calmed = {"query": probe.inputs["query"] * min(1.0, _CALM / max(scores, 1e-300))}
    if probe.has_float_mask:
        calmed["mask"] = smaller(probe.inputs["mask"], _CALM)
    for name in ("sinks", "alibi_slopes"):
        if name in probe.inputs:
            calmed[name] = smaller(probe.inputs[name], _CALM)
    return probe.given(**calmed)


def _of_size(probe: Probe) -> Finding:
    """Return that a call goes wrong because its logits are large."""
    largest = float(np.abs(probe.logits).max(initial=0.0))
    names = ["softmax.stability", "precision.accumulation"]
    if probe.has_float_mask:
        names.append("mask.additive")
    reported = f"It goes wrong where logits are as large as {largest:.3g}, and not where they are small."

    def fails(of: Probe) -> bool | None:
        return False if of.is_moderate else True if np.abs(of.logits).max(initial=0.0) >= largest else None

    return Finding("large logits", clauses.clauses(names), reported, {"logit": largest}, fails=fails)


def _rounded(probe: Probe, output: NDArray[Any], dtype: str) -> list[Finding]:
    """Return the step that was rounded, where that explains what is wrong."""
    law = rounding_law(probe, output, dtype)
    if law is None:
        return []
    if law.step == "scale":
        named = (clauses.of_scale(probe),)
    else:
        named = clauses.clauses(clauses.TABLE["of_step"].get(law.step, ("precision.accumulation", "scores")))
    how = "cut" if law.is_cut else "rounded"
    reported = f"The step {law.step!r} is {how} to {law.bits} significant bits of {_BITS[dtype]}."
    return [Finding("rounding", named, reported, {"bits": float(law.bits), "step": law.step})]


def _noise(probe: Probe, output: NDArray[Any], dtype: str) -> list[Finding]:
    """Return that the error has the size of a rounding, though of no step by itself."""
    bits = looks_rounded(probe, output, dtype)
    if bits is None:
        return []
    named = tuple(dict.fromkeys((clause("precision.accumulation"), *clauses.of_arguments(probe.arguments))))
    reported = f"Numbers are right to about {bits} significant bits of {_BITS[dtype]}."
    return [Finding("rounding", named, reported, {"bits": float(bits)})]

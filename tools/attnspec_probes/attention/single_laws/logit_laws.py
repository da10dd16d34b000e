"""Which logits weights come from: the factor of scores, mask and distance, the form of the cap."""

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention.single_laws.probe import Probe, Reading

RESIDUALS = {"float64": 1e-8, "float32": 3e-4}
"""Residuals that a law may leave of the logits: logarithms of weights that are exact to some thousand roundings."""

_TRIED = 160
"""Numbers that are tried before the best is made exact; a residual has one minimum between two of them."""

_THIRDS = 70
"""Steps after which an interval is shorter than a rounding of its numbers."""

_SHARE_OF_SINK = 1e-4
"""The least share of a sink, which gets all that keys do not: less is lost in the roundings of their sum."""

_VARIES = 1e-3
"""Scores that differ by less within every row do not show their factor."""


Form = Callable[[NDArray[Any], float, float], NDArray[Any]]
"""Scores, the bound of a cap, and the expected one, to the capped scores."""


@dataclass(frozen=True)
class LogitLaw:
    """A law of the logits of any probe, named for its difference, such as ``scale``; `parameters` were fitted."""

    name: str
    parameters: Mapping[str, float]
    logits: Callable[[Probe], NDArray[Any]]


class Rows(NamedTuple):
    """Logits from rows of weights: their logarithms (B, Hq, Sq, P + Sk), less the mean over the readable entries.

    Where there is a sink, a last column has its share, and `sinks` (Hq) its logits. `telling` entries are readable:
    they are attended, and should be.
    """

    measured: NDArray[Any]
    telling: NDArray[np.bool_]
    sinks: NDArray[Any] | None

    def centred(self, logits: NDArray[Any], *, is_part: bool = False) -> NDArray[Any]:
        """Return logits less their mean over each row's readable entries, as one list; no sink's if `is_part`."""
        batch, heads, queries, columns = self.telling.shape
        full = np.broadcast_to(logits, (batch, heads, queries, columns - (self.sinks is not None)))
        if self.sinks is not None:
            of_sink = np.zeros_like(self.sinks) if is_part else self.sinks
            last = np.broadcast_to(of_sink.reshape(1, -1, 1, 1), (batch, heads, queries, 1))
            full = np.concatenate([full, last], axis=-1)
        return self.centred_whole(full)

    def centred_whole(self, full: NDArray[Any]) -> NDArray[Any]:
        """Return logits that have the last column already, less their mean, as one list."""
        count = np.maximum(self.telling.sum(axis=-1, keepdims=True), 1)
        mean = np.where(self.telling, full, 0.0).sum(axis=-1, keepdims=True) / count
        return (full - mean)[self.telling]

    @property
    def of_keys(self) -> NDArray[Any]:
        """Measured logits, as one list, less the part that the sink alone brings."""
        return self.measured[self.telling] - self.centred(np.zeros((1, 1, 1, 1)))

    def residual(self, logits: NDArray[Any]) -> float:
        """Return the largest difference from what was measured."""
        return float(np.abs(self.centred(logits) - self.measured[self.telling]).max(initial=0.0))


def rows_of(reading: Reading, *, with_sinks: bool = True) -> Rows | None:
    """Return the logits that weights show, with sinks' shares if wanted; None where no row has two readable entries."""
    probe, weights = reading.probe, reading.weights
    telling = probe.placing.attendable & probe.live[..., np.newaxis] & (weights > 0) & np.isfinite(weights)
    sinks = probe.inputs.get("sinks") if with_sinks else None
    if sinks is not None:
        of_sink = 1 - weights.sum(axis=-1, keepdims=True)
        telling = np.concatenate([telling, (of_sink > _SHARE_OF_SINK) & probe.live[..., np.newaxis]], axis=-1)
        weights = np.concatenate([weights, of_sink], axis=-1)
    telling &= telling.sum(axis=-1, keepdims=True) > 1
    if not telling.any():
        return None
    rows = Rows(np.log(np.where(telling, weights, 1.0)), telling, sinks)
    centred = np.zeros_like(rows.measured)
    centred[telling] = rows.centred_whole(rows.measured)
    return rows._replace(measured=centred)


def logits_are_right(rows: Rows, probe: Probe, dtype: str) -> bool:
    """Return whether the weights stand to each other as they should."""
    return rows.residual(probe.logits) <= _allowed(probe, dtype)


def logit_laws(rows: Rows, probe: Probe, dtype: str) -> list[LogitLaw]:
    """Return the laws that give the measured logits, the plainest first."""
    allowed = _allowed(probe, dtype)
    return [law for law in _laws(rows, probe) if rows.residual(law.logits(probe)) <= allowed]


def _allowed(probe: Probe, dtype: str) -> float:
    return RESIDUALS.get(dtype, math.inf) * max(1.0, float(np.abs(probe.logits).max(initial=0.0)))


def _laws(rows: Rows, probe: Probe) -> Generator[LogitLaw]:
    """Give laws, the plainest first; each is fitted to the rows."""
    yield from _linear(rows, probe)
    yield from _order(probe)
    if probe.has_float_mask:
        yield from _masks(rows, probe)
    yield from _caps(rows, probe)


def _linear(rows: Rows, probe: Probe) -> Generator[LogitLaw]:
    """Give the law in which each part of the logits has a factor of its own, with and without the cap."""
    for form, is_capped in (("capped", True), ("plain", False)):
        if is_capped is (not probe.softcap):
            continue

        def parts(of: Probe, *, is_capped: bool = is_capped) -> list[NDArray[Any]]:
            scores = of.capped(of.scores) if is_capped else of.scores
            return [scores, of.mask, of.bias]

        columns = np.stack([rows.centred(part, is_part=True) for part in parts(probe)], axis=1)
        varies = np.abs(columns).max(axis=0, initial=0.0) > _VARIES
        if not varies[0]:
            # Scores that do not vary have no factor to be measured.
            columns[:, 0] = 0.0
        factors = np.ones(3)
        measured = rows.of_keys
        if varies.any():
            solved, *_ = np.linalg.lstsq(columns[:, varies], measured, rcond=None)
            factors[varies] = solved

        def logits(of: Probe, *, parts: Callable[[Probe], list[NDArray[Any]]] = parts, by: Any = factors) -> Any:
            return sum((factor * part for factor, part in zip(by, parts(of), strict=True)), np.zeros(()))

        off = [
            name for name, factor in zip(("scale", "mask", "distance"), factors, strict=True) if abs(factor - 1) > 1e-6
        ]
        if form == "plain" and probe.softcap:
            off = ["uncapped", *off]
        yield LogitLaw(
            " and ".join(off) or "right",
            {"score_factor": factors[0], "mask_factor": factors[1], "distance_factor": factors[2]},
            logits,
        )


def _order(probe: Probe) -> Generator[LogitLaw]:
    """Give the laws in which the cap comes at another step."""
    if not probe.softcap:
        return
    forms: dict[str, Callable[[Probe], NDArray[Any]]] = {
        "mask capped": lambda of: of.capped(of.scores + of.mask) + of.bias,
        "distance capped": lambda of: of.capped(of.scores + of.bias) + of.mask,
        "all capped": lambda of: of.capped(of.scores + of.bias + of.mask),
        "capped before scale": lambda of: of.capped(of.products) * of.scale + of.bias + of.mask,
        "cap not multiplied": lambda of: np.tanh(of.scores / of.softcap) + of.bias + of.mask,
    }
    for name, logits in forms.items():
        yield LogitLaw(name, {}, logits)


def _masks(rows: Rows, probe: Probe) -> Generator[LogitLaw]:
    """Give the laws in which a float mask acts otherwise."""
    yield LogitLaw("mask multiplied", {}, lambda of: (of.capped(of.scores) + of.bias) * of.mask)
    yield LogitLaw("mask scaled", {}, lambda of: of.capped((of.products + of.mask) * of.scale) + of.bias)
    numbers = probe.mask[np.isfinite(probe.mask)]
    for name, bound in _CLAMPS.items():

        def logits_by(limit: float, bound: Any = bound) -> Callable[[Probe], NDArray[Any]]:
            return lambda of: of.capped(of.scores) + of.bias + bound(of.mask, limit)

        limits = np.linspace(float(numbers.min()), float(numbers.max()), _TRIED)
        limit = _best(lambda limit, by=logits_by: rows.residual(by(limit)(probe)), limits)
        yield LogitLaw(name, {"limit": limit}, logits_by(limit))


_CLAMPS: dict[str, Callable[[NDArray[Any], float], NDArray[Any]]] = {
    "mask clamped below": np.maximum,
    "mask clamped above": np.minimum,
    "mask clamped to both sides": lambda mask, limit: np.clip(mask, -abs(limit), abs(limit)),
}
"""Bounds of a mask, by a limit."""


def _caps(rows: Rows, probe: Probe) -> Generator[LogitLaw]:
    """Give the laws in which scores are bounded by another number, or in another form."""
    largest = float(np.abs(probe.scores[probe.placing.attendable]).max(initial=0.0))
    if largest <= _VARIES:
        return
    bounds = largest * np.geomspace(0.02, 60, _TRIED)
    for name, form in _CAPS.items():

        def residual(bound: float, form: Any = form) -> float:
            return rows.residual(form(probe.scores, bound, probe.softcap or bound) + probe.bias + probe.mask)

        bound = _best(residual, bounds)
        if probe.softcap:
            factor = bound / probe.softcap
            yield LogitLaw(name, {"bound": bound, "cap_factor": factor}, _capped_by(form, factor))
        else:
            yield LogitLaw(name, {"bound": bound}, _capped_unrequested(form, bound, beside=False))
            yield LogitLaw(
                f"{name}, beside one that is requested", {"bound": bound}, _capped_unrequested(form, bound, beside=True)
            )


def _capped_by(form: Form, factor: float) -> Callable[[Probe], NDArray[Any]]:
    """Return the logits of a cap that is another one, by a factor, wherever one is requested."""

    def logits(of: Probe) -> NDArray[Any]:
        return form(of.scores, factor * of.softcap, of.softcap) + of.bias + of.mask if of.softcap else of.logits

    return logits


def _capped_unrequested(form: Form, bound: float, *, beside: bool) -> Callable[[Probe], NDArray[Any]]:
    """Return the logits of a cap that nobody requested: where none is requested, or always."""

    def logits(of: Probe) -> NDArray[Any]:
        if of.softcap and not beside:
            return of.logits
        return form(of.capped(of.scores), bound, bound) + of.bias + of.mask

    return logits


_CAPS: dict[str, Form] = {
    "cap": lambda scores, bound, _: bound * np.tanh(scores / bound),
    "clipped": lambda scores, bound, _: np.clip(scores, -bound, bound),
    "cap by arctangent": lambda scores, bound, _: bound * np.arctan(scores / bound),
    "cap by quotient": lambda scores, bound, _: scores / (1 + np.abs(scores) / bound),
    "cap of another inner bound": lambda scores, bound, expected: expected * np.tanh(scores / bound),
    "cap of another outer bound": lambda scores, bound, expected: bound * np.tanh(scores / expected),
}
"""Forms of a cap, of scores, the bound that is fitted, and the expected one."""


def _best(residual: Callable[[float], float], tried: NDArray[Any]) -> float:
    """Return the number of the smallest residual: the best of those that are tried, then by thirds beside it."""
    nearest = int(np.argmin([residual(float(number)) for number in tried]))
    low, high = float(tried[max(nearest - 1, 0)]), float(tried[min(nearest + 1, len(tried) - 1)])
    for _ in range(_THIRDS):
        third = (high - low) / 3
        if residual(low + third) < residual(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2

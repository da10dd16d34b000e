"""Laws of the softmax's total: a mass that is added, sinks of other heads, excluded keys that keep a share."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention.single_laws.alibi_laws import OF_HEAD
from attnspec_probes.attention.single_laws.attended_laws import constraints_of, together
from attnspec_probes.attention.single_laws.probe import Probe, Reading

_ERRORS = {"float64": 1e-7, "float32": 1e-3}
"""Relative error up to which masses of several rows are the same: a mass is a difference of sums that are close."""

_SMALLEST = 1e-290
"""Weights below it have lost bits."""


@dataclass(frozen=True)
class TotalLaw:
    """A law of the total, such as ``added mass``: the weights of any probe; None where it says nothing of that one."""

    name: str
    parameters: Mapping[str, float | str]
    weights: Callable[[Probe], NDArray[Any] | None]

    def output(self, of: Probe) -> NDArray[Any] | None:
        """Return the output of a probe by the law; None where it says nothing of it."""
        weights = self.weights(of)
        return None if weights is None else of.output_of(weights)


def total_laws(reading: Reading, dtype: str) -> list[TotalLaw]:
    """Return the laws that give the weights of a probe whose keys and logits are right, the plainest first."""
    return [law for law in _laws(reading) if _gives(law, reading, dtype)]


def _gives(law: TotalLaw, reading: Reading, dtype: str) -> bool:
    given = law.weights(reading.probe)
    if given is None:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(given - reading.weights) <= _ERRORS.get(dtype, np.inf) * np.abs(reading.weights) + _SMALLEST
    return bool(near[reading.probe.live].all())


def fill_laws(reading: Reading, constraint: str | None, dtype: str) -> list[TotalLaw]:
    """Return laws by which excluded keys keep a share: their logits are one number, or are moved by one.

    The keys are those that `constraint` excludes; None for all that are excluded.
    """
    probe, weights = reading.probe, reading.weights
    beyond = _kept(probe, constraint) & probe.live[..., np.newaxis] & (weights > 0)
    if not beyond.any():
        return []
    telling = probe.placing.attendable & (weights > 0)
    # The loss of each row to its total: the same for all its keys.
    with np.errstate(all="ignore"):
        logarithms = np.log(weights)
    count = np.maximum(telling.sum(axis=-1, keepdims=True), 1)
    total = np.where(telling, probe.logits - logarithms, 0.0).sum(axis=-1, keepdims=True) / count
    kept = (logarithms + total)[beyond]
    moved = kept - np.broadcast_to(probe.logits, weights.shape)[beyond]
    allowed = 100 * _ERRORS.get(dtype, np.inf) * max(1.0, float(np.abs(kept).max()))
    found: list[TotalLaw] = []
    for name, numbers, is_moved in (("fill", kept, False), ("bias of excluded keys", moved, True)):
        number = float(np.median(numbers))
        # Logits that are moved by nothing are those of keys that are not excluded.
        if np.abs(numbers - number).max() <= allowed and not (is_moved and abs(number) <= allowed):

            def filled(of: Probe, *, number: float = number, is_moved: bool = is_moved) -> NDArray[Any]:
                keeps = _kept(of, constraint)
                logits = of.logits + number if is_moved else np.full(of.shape, number)
                return of.weights_of(np.where(keeps, logits, of.logits), of.placing.attendable | keeps)

            found.append(TotalLaw(name, {"fill": number}, filled))
    return found


def _kept(probe: Probe, constraint: str | None) -> NDArray[np.bool_]:
    """Return the keys that are excluded, by any constraint or by one alone, of queries that count."""
    constraints = constraints_of(probe)
    if constraint in constraints:
        others = {name: allowed for name, allowed in constraints.items() if name != constraint}
        excluded = together(probe, others) & ~constraints[constraint]
    else:
        excluded = ~probe.placing.attendable if constraint is None else np.zeros(probe.shape, dtype=np.bool_)
    return excluded & probe.counted[..., np.newaxis]


def _laws(reading: Reading) -> Generator[TotalLaw]:
    probe = reading.probe
    sinks = probe.inputs.get("sinks")
    if sinks is not None:
        yield TotalLaw("sinks left out", {}, lambda of: of.without("sinks").weights)
        for rule, of_head in OF_HEAD.items():

            def other(of: Probe, *, of_head: Any = of_head) -> NDArray[Any]:
                return of.given(sinks=of_head(of.inputs["sinks"], of)).weights

            yield TotalLaw("sinks of other heads", {"rule": rule}, other)
        yield from _factors(reading)
    yield from _masses(reading)


def _excess(reading: Reading) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any]] | None:
    """Return the readable rows, and for each the excess of its total over the keys, and the largest logit."""
    probe = reading.probe
    rows = probe.live & (reading.weights.sum(axis=-1) > 0)
    if not rows.any():
        return None
    logits = np.where(probe.placing.attendable, probe.logits, -np.inf)[rows]
    largest = logits.max(axis=-1)
    total = np.exp(logits - largest[:, np.newaxis]).sum(axis=-1)
    return rows, (1 / reading.weights[rows].sum(axis=-1) - 1) * total, largest


def _factors(reading: Reading) -> Generator[TotalLaw]:
    """Give the law in which sinks are multiplied by a number before they join."""
    found = _excess(reading)
    probe = reading.probe
    if found is None or "sinks" not in probe.inputs:
        return
    rows, excess, largest = found
    expected = np.broadcast_to(probe.inputs["sinks"].reshape(1, -1, 1), probe.shape[:3])[rows]
    with np.errstate(all="ignore"):
        measured = np.log(excess) + largest
        factor = float(np.median(measured[expected != 0] / expected[expected != 0])) if (expected != 0).any() else 1.0
    if np.isfinite(factor):
        yield TotalLaw(
            "sinks multiplied", {"factor": factor}, lambda of: of.given(sinks=of.inputs["sinks"] * factor).weights
        )


def _masses(reading: Reading) -> Generator[TotalLaw]:
    """Give the laws in which the total has a mass more, by itself or in units of its largest exponential.

    It may come once a row, or once for each key that is excluded.
    """
    found = _excess(reading)
    if found is None:
        return
    rows, excess, largest = found
    had_sinks = "sinks" in reading.probe.inputs
    excluded = (~reading.probe.placing.attendable).sum(axis=-1)[rows]
    for is_absolute in (True, False):
        for of_each in (False, True):
            masses = excess * np.exp(np.minimum(largest, 700)) if is_absolute else excess
            if of_each:
                if not (excluded > 0).any():
                    continue
                masses = masses[excluded > 0] / excluded[excluded > 0]
            mass = float(np.median(masses))

            def weights(
                of: Probe, *, mass: float = mass, is_absolute: bool = is_absolute, of_each: bool = of_each
            ) -> NDArray[Any] | None:
                if ("sinks" in of.inputs) is not had_sinks:
                    return None
                logits = np.where(of.placing.attendable, of.logits, -np.inf)
                largest = logits.max(axis=-1, keepdims=True)
                largest = np.where(np.isfinite(largest), largest, 0.0)
                exponentials = np.exp(logits - largest)
                # Scores far below 0 weigh nothing beside a mass that does not depend on them.
                with np.errstate(over="ignore"):
                    added = mass * np.exp(-largest) if is_absolute else np.full_like(largest, mass)
                if of_each:
                    added = added * (~of.placing.attendable).sum(axis=-1, keepdims=True)
                return exponentials / (exponentials.sum(axis=-1, keepdims=True) + added)

            name = "added mass" if is_absolute else "added mass beside the largest"
            yield TotalLaw(f"{name}{' for each excluded key' if of_each else ''}", {"mass": mass}, weights)

"""Findings about the keys that were attended, and those of which a share was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.families.attention.measuring import clauses
from attnspec.families.attention.measuring.attended_laws import (
    above_threshold,
    attended_in,
    attended_laws,
    blamed,
    refined,
    threshold,
)
from attnspec.families.attention.measuring.finding import Finding, part
from attnspec.families.attention.measuring.total_laws import fill_law

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from attnspec.families.attention.measuring.attended_laws import AttendedLaw
    from attnspec.families.attention.measuring.probe import Probe
    from attnspec.families.attention.measuring.reading import Reading
    from attnspec.probing import Asking

_KINDS = {
    "position": "offset",
    "causal": "offset",
    "left": "window",
    "right": "window",
    "open_side": "window",
    "mask axes": "mask",
}
"""Constraint to what a law about it is called; others are called as the constraint is."""

_LARGEST_MASK = 64.0
"""Masks that are read as truth values have their threshold nearer to 0."""

_WORDS = {
    "position": "Positions",
    "causal": "Causality",
    "left": "The left side of the window",
    "right": "The right side of the window",
    "open_side": "The window",
    "mask": "The mask",
    "mask axes": "The mask",
    "lengths": "Key lengths",
    "keys": "Keys",
}


def from_keys(reading: Reading, asking: Asking, dtype: str) -> list[Finding]:
    """Return which keys were attended, where they are others than those owed: all laws that give them.

    Parameters
    ----------
    reading
        The weights.
    asking, dtype
        The black box, and the dtype in which it is asked.
    """
    probe = reading.probe
    fill = fill_of(reading, dtype)
    differ = (attended_in(reading) != probe.placing.attendable) & probe.live[..., np.newaxis]
    if not differ.any():
        return fill
    found = [_attended(refined(law, probe, asking, dtype), probe) for law in attended_laws(reading)] + fill
    excluding = blamed(reading)
    if not found and excluding:
        told = f"Keys are attended that {' and '.join(excluding)} exclude{'s' if len(excluding) == 1 else ''}."
        named = (clauses.of_constraint(name, probe) for name in excluding)
        may = tuple(dict.fromkeys((*named, *clauses.of_arguments(probe.arguments))))
        found.append(Finding("keys", may, told, {"constraint": " ".join(excluding)}))
    return found or [part(probe)]


def from_threshold(probe: Probe, asking: Asking, dtype: str) -> list[Finding]:
    """Return up to which number a mask excludes that is not added; nothing where it excludes by none."""
    limit = threshold(-_LARGEST_MASK, _LARGEST_MASK, asking, dtype)
    return [] if limit is None else [_attended(above_threshold(limit, adds_mask=False), probe)]


def fill_of(reading: Reading, dtype: str) -> list[Finding]:
    """Return by which number excluded keys keep a share."""
    probe = reading.probe
    law = fill_law(reading, dtype)
    if law is None:
        return []
    named = tuple(clauses.of_constraint(name, probe) for name in blamed(reading))
    more = " more than they would be" if law.name != "fill" else ""
    return [
        Finding(
            "fill",
            named[:1] or clauses.of_arguments(probe.arguments),
            f"Excluded keys keep a share: their logits are {law.parameters['fill']:.6g}{more}, not minus infinity.",
            {**law.parameters, "form": law.name},
            lambda of: _given(of, law.weights(of)),
        )
    ]


def _given(of: Probe, weights: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if weights is None else of.output_of(weights)


def _attended(law: AttendedLaw, probe: Probe) -> Finding:
    def output(of: Probe) -> NDArray[Any] | None:
        attended = law.attended(of)
        logits = of.logits if law.adds_mask else of.logits - of.mask
        return None if attended is None else of.output_of(of.weights_of(logits, attended))

    named = (clauses.of_constraint(law.constraint, probe),)
    if law.constraint == "keys" and probe.arguments:
        named = clauses.of_arguments(probe.arguments)
    parameters = {"constraint": law.constraint, **law.parameters}
    kind = _KINDS.get(law.constraint, law.constraint)
    return Finding(kind, named, f"{_WORDS[law.constraint]}: {law.change}.", parameters, output)

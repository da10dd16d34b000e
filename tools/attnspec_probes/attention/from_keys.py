"""Findings about the keys that were attended, those of which a share was kept, and where queries stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import Finding, part
from attnspec_probes.attention.single_laws.attended_laws import (
    AttendedLaw,
    above_threshold,
    attended_in,
    attended_laws,
    blamed,
    holding,
    refined,
    threshold,
)
from attnspec_probes.attention.single_laws.probe import Probe, Reading, read, resized
from attnspec_probes.attention.single_laws.total_laws import fill_laws

if TYPE_CHECKING:
    from attnspec_probes import Calling


_LARGER = (24, 48)
"""Queries and new keys beside which windows, tiles and lengths differ that look alike in cases of few keys."""

_LARGEST_MASK = 64.0
"""Masks that are read as truth values have their threshold nearer to 0."""


def from_keys(reading: Reading, calling: Calling, dtype: str) -> list[Finding]:
    """Return the laws that all give the keys that were attended, where these are others than the expected ones."""
    probe = reading.probe
    fill = from_fill(reading, dtype)
    differ = (attended_in(reading) != probe.placing.attendable) & probe.live[..., np.newaxis]
    if not differ.any():
        return fill
    laws = _distinguished(reading, calling, dtype)
    found = [_attended(refined(law, probe, calling, dtype), probe) for law in laws] + fill
    excluding = blamed(reading)
    if not found and excluding:
        reported = f"Keys are attended that {' and '.join(excluding)} exclude{'s' if len(excluding) == 1 else ''}."
        named = (clauses.of_constraint(name, probe) for name in excluding)
        may = tuple(dict.fromkeys((*named, *clauses.of_arguments(probe.arguments))))
        found.append(Finding("keys", may, reported, {"constraint": " ".join(excluding)}))
    return found or [part(probe)]


def _distinguished(reading: Reading, calling: Calling, dtype: str) -> list[AttendedLaw]:
    """Return the laws that hold at larger extents, too; those of the call alone where none does."""
    larger = read(resized(reading.probe, *_LARGER), calling, dtype)
    at_both = [] if larger is None else list(holding(attended_laws(larger), reading))
    return at_both or attended_laws(reading)


def from_threshold(probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    """Return up to which number a mask excludes whose numbers are not added; nothing where it excludes by none."""
    limit = threshold(-_LARGEST_MASK, _LARGEST_MASK, calling, dtype)
    return [] if limit is None else [_attended(above_threshold(limit, adds_mask=False), probe)]


def from_fill(reading: Reading, dtype: str) -> list[Finding]:
    """Return by which numbers excluded keys keep a share, those of one constraint or all."""
    probe = reading.probe
    excluding = blamed(reading)
    found: list[Finding] = []
    for constraint in (None, *excluding):
        for law in fill_laws(reading, constraint, dtype):
            more = " more than they would be" if law.name != "fill" else ""
            about = constraint or next(iter(excluding), None)
            found.append(
                Finding(
                    "fill",
                    (clauses.of_constraint(about, probe),) if about else clauses.of_arguments(probe.arguments),
                    f"Excluded keys keep a share: their logits are {law.parameters['fill']:.6g}{more}, "
                    "not minus infinity.",
                    {**law.parameters, "form": law.name},
                    law.output,
                )
            )
    return found


def _attended(law: AttendedLaw, probe: Probe) -> Finding:
    def output(of: Probe) -> NDArray[Any] | None:
        attended = law.attended(of)
        logits = of.logits if law.adds_mask else of.logits - of.mask
        return None if attended is None else of.output_by(logits, attended)

    # Where it is said how far a bound is off, it is the position that is.
    is_placed = law.constraint in ("causal", "position") and law.parameters
    named = (clauses.of_position(probe) if is_placed else clauses.of_constraint(law.constraint, probe),)
    if law.constraint == "keys" and probe.arguments:
        named = clauses.of_arguments(probe.arguments)
    parameters = {"constraint": law.constraint, **law.parameters}
    kind, subject = clauses.TABLE["words"][law.constraint]
    return Finding(kind, named, f"{subject}: {law.change}.", parameters, output)


_PLACED: dict[str, Callable[[Probe], Probe]] = {
    "is_causal": lambda bare: bare.said(is_causal=True),
    "window": lambda bare: bare.said(window=[1, 1]),
    "alibi_slopes": lambda bare: bare.given(alibi_slopes=np.linspace(0.5, 1.0, bare.shape[1])),
}
"""Arguments that positions decide, each to the function that adds it to a call without any."""


_MOVING = {"past_key", "causal_alignment"}
"""Arguments that move queries."""


def is_general(probe: Probe, calling: Calling, dtype: str) -> bool | None:
    """Return whether a minimal failing call fails, too, with another argument instead of its one that positions decide.

    None where it has none or several of them.
    """
    needed = [name for name in _PLACED if name in probe.arguments]
    if len(needed) != 1:
        return None
    bare = probe.without(needed[0])
    others = [added(bare) for name, added in _PLACED.items() if name != needed[0]]
    return any(other.fails(calling, dtype) for other in others if other.live.any())


def from_placing(probe: Probe, calling: Calling, dtype: str) -> Finding | None:
    """Return for what queries stand wrongly; None where it is not about positions."""
    general = is_general(probe, calling, dtype) if _MOVING & probe.arguments else None
    if general is None:
        return None
    (needed,) = (name for name in _PLACED if name in probe.arguments)
    given = ", ".join(sorted(probe.arguments - {needed}))
    if general:
        reported = f"Queries stand wrongly with {given}, whatever their position is for."
        return Finding("position", (clauses.of_alignment(probe),), reported)
    reported = f"It goes wrong with {needed} and {given}; what else positions decide is right."
    return Finding("position", clauses.of_placed(needed, probe), reported)

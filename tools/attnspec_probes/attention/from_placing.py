"""Positions of queries: whether they are wrong for all that depends on them, or for one argument alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.probed_call import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_probes import Calling
    from attnspec_probes.attention.single_laws.probe import Probe

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
    others = [place(bare) for name, place in _PLACED.items() if name != needed[0]]
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
    reported = f"It goes wrong with {needed} and {given}; what else positions place is right."
    return Finding("position", clauses.of_placed(needed, probe), reported)

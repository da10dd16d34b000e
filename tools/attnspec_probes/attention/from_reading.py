"""Findings about values and keys that are read where they do not stand, in layouts that hold them in pages or rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract.layout import layout_name, layouts_of_clause
from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import READ_ELSEWHERE, Finding
from attnspec_probes.attention.single_laws.probe import Probe, read, resized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_probes import Calling

_TWICE = 1.5
"""How many times the share of another key a key has that is read more than once, where all scores are equal."""

_LOST = 1e-6
"""A share that nothing came of, and what is missing to the whole where something else was read."""

_EXTENTS = (5, 37)
"""Queries and keys: several pages of the sizes that are usual in cases, and a last one that is not full."""

_TENSORS = ("query", "key", "value")

_REPORTED = 6
"""The most positions that a sentence names."""


def from_reading(probe: Probe, layout: str | None, calling: Calling, dtype: str) -> Finding | None:
    """Return that values are read where others stand; None where a layout has no clause about it, or they are not.

    With queries of zeros all keys weigh the same, so that the weights that are read count the values.
    """
    about = _clauses(layout)
    if not about:
        return None
    # Without any argument that weighs keys otherwise.
    plain = resized(Probe({name: probe.inputs[name] for name in _TENSORS}, {}), *_EXTENTS)
    reading = read(plain.given(query=np.zeros_like(plain.inputs["query"])), calling, dtype)
    if reading is None or not np.isfinite(reading.weights).all():
        return None
    for shares in reading.weights.reshape(-1, reading.weights.shape[-1]):
        least, total = shares[np.abs(shares) > _LOST].min(initial=1.0), shares.sum()
        if abs(total - 1) > _LOST and np.ptp(shares) > _LOST:
            return Finding(READ_ELSEWHERE, about, "Keys that a query should attend to are not read, and others are.")
        if least > 0 and shares.max() > _TWICE * least:
            return Finding(READ_ELSEWHERE, about[:1], f"Where all scores are equal, {_counted(shares, least)}.")
    return None


def _counted(shares: NDArray[Any], least: float) -> str:
    times = [f"{round(share / least)}" for share in shares[:_REPORTED]]
    more = ", …" if len(shares) > _REPORTED else ""
    return f"the values of keys 0, 1, … count {', '.join(times)}{more} times, and should count once each"


def _clauses(layout: str | None) -> tuple[str, ...]:
    """Return the clauses of a layout about where keys and values stand, the one about their order first."""
    named = clauses.clauses(clauses.TABLE["of_reading"])
    return tuple(each for each in named if layout is not None and layout_name(layout) in layouts_of_clause(each))

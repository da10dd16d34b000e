"""Results that depend on what they must not: how an input lies in memory, or earlier calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_probes.attention.single_laws.probe import OPERATION
from attnspec_probes.attention.single_laws.resizing import resized

if TYPE_CHECKING:
    from collections.abc import Generator

    from attnspec_probes import Calling
    from attnspec_probes.attention.single_laws.probe import Probe
    from attnspec_probes.attention.single_laws.reducing import Start

_EXTENTS = ((19, 31), (23, 37))
"""Queries and new keys of calls such as no case has, so that nothing was kept of them."""


def requested_again(start: Start, calling: Calling) -> bool:
    """Call with a failing case once more, in its own dtype and memory layout; return whether it fails again."""
    answer = calling(OPERATION, start.dtype, start.probe.inputs, start.probe.attributes, start.memory_order)
    return bool(start.probe.wrong(start.probe.output_in(answer), start.dtype).any())


def follows_earlier_calls(start: Start, calling: Calling, place: int) -> bool:
    """Return whether a case that fails again is right at extents never used, and wrong there once something is changed.

    `place` is an index into the extents; those of other indices were used.
    """
    fresh = resized(start.probe, *_EXTENTS[place])
    if fresh.fails(calling, start.dtype):
        return False
    wrong = next((changed for changed in _changed(fresh) if changed.fails(calling, start.dtype)), None)
    if wrong is None:
        return False
    # The changed call may go wrong by itself: with one key more, of which nothing was kept, it then does, too.
    queries, keys = _EXTENTS[place]
    return not resized(wrong, queries, keys + 1).fails(calling, start.dtype)


def _changed(probe: Probe) -> Generator[Probe]:
    """Give the call with one thing changed that its result depends on."""
    inputs, attributes = probe.inputs, probe.attributes
    yield probe.given(query=inputs["query"][:, :, ::-1].copy())
    yield probe.given(key=-inputs["key"])
    yield probe.given(value=-inputs["value"])
    if "mask" in inputs:
        yield probe.given(mask=np.roll(inputs["mask"], 1, axis=-1))
    for name in ("sinks", "alibi_slopes"):
        if name in inputs:
            yield probe.given(**{name: 2 * inputs[name]})
    for name in ("key_lengths", "query_lengths"):
        if name in inputs:
            yield probe.given(**{name: np.maximum(inputs[name] - 1, 1)})
    if attributes.get("window"):
        yield probe.said(window=[None if side is None else side + 1 for side in attributes["window"]])
    if attributes.get("softcap"):
        yield probe.said(softcap=2 * attributes["softcap"])
    yield probe.said(scale=0.7 * probe.scale)
    yield probe.said(is_causal=not attributes.get("is_causal", False))
    if "key_lengths" not in inputs and not probe.past:
        yield probe.given(key_lengths=np.full(probe.shape[0], probe.shape[3] // 2))
    for name in ("sinks", "alibi_slopes"):
        if name not in inputs:
            yield probe.given(**{name: np.linspace(0.5, 1.0, probe.shape[1])})
    if "mask" not in inputs:
        # Every third key is excluded, of other queries other ones.
        places = np.add.outer(np.arange(probe.shape[2]), np.arange(probe.shape[3]))
        yield probe.given(mask=places % 3 > 0)

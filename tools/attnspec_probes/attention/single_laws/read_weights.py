"""Reading the weights of a black box: values that are rows of the identity come back as the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from attnspec_probes import Calling
    from attnspec_probes.attention.single_laws.probe import Probe


class Reading(NamedTuple):
    """Weights (B, Hq, Sq, P + Sk) that a probe read, and `sources` (B, Hq, Sq, B, Hkv): batch entries and key heads.

    A row of `sources` sums to the sum of its weights.
    """

    probe: Probe
    weights: NDArray[Any]
    sources: NDArray[Any]


def read(probe: Probe, calling: Calling, dtype: str, *, wider: int = 0) -> Reading | None:
    """Call with values that show weights and sources, and `wider` features of zeros; None if nothing comes back.

    Rows of the identity show the weights; each batch entry and head has a mark of its own beside them.
    """
    batch, heads, queries, keys = probe.shape
    marks = batch * probe.key_heads
    value = np.zeros((batch, probe.key_heads, keys, keys + marks + wider))
    value[..., :keys] = np.eye(keys)
    for place in range(marks):
        value[place // probe.key_heads, place % probe.key_heads, :, keys + place] = 1.0
    asked = probe.with_values(value)
    output = asked.ask(calling, dtype)
    if output is None:
        return None
    sources = output[..., keys : keys + marks].reshape(batch, heads, queries, batch, probe.key_heads)
    return Reading(asked, output[..., :keys], sources)

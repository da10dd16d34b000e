"""Reading the weights of a black box: values that are rows of the identity come back as the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from attnspec_probes import Asking
    from attnspec_probes.attention.single_laws.probe import Probe


class Reading(NamedTuple):
    """What a probe read.

    Attributes
    ----------
    probe
        The probe, with its values.
    weights
        The weights that came back (B, Hq, Sq, P + Sk).
    sources
        How much of each row came from each batch entry and key head (B, Hq, Sq, B, Hkv); a whole row is its weights'
        sum.
    """

    probe: Probe
    weights: NDArray[Any]
    sources: NDArray[Any]


def read(probe: Probe, asking: Asking, dtype: str, *, wider: int = 0) -> Reading | None:
    """Ask with such values, beside which each batch entry and head has a mark of its own; None if nothing comes back.

    Parameters
    ----------
    probe
        The call; its values are replaced.
    asking, dtype
        The black box, and the dtype in which it is asked.
    wider
        How many features of zeros the values have more.
    """
    batch, heads, queries, keys = probe.shape
    marks = batch * probe.key_heads
    value = np.zeros((batch, probe.key_heads, keys, keys + marks + wider))
    value[..., :keys] = np.eye(keys)
    for place in range(marks):
        value[place // probe.key_heads, place % probe.key_heads, :, keys + place] = 1.0
    asked = probe.with_values(value)
    output = asked.ask(asking, dtype)
    if output is None:
        return None
    sources = output[..., keys : keys + marks].reshape(batch, heads, queries, batch, probe.key_heads)
    return Reading(asked, output[..., :keys], sources)

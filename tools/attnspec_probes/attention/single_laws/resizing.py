"""Calls of other extents, made of the same queries and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_probes.attention.single_laws.probe import Probe

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


def resized(probe: Probe, queries: int, keys: int) -> Probe:
    """Return a call of other extents whose queries and new keys are those of this one, again and again."""
    of_query, of_key = np.arange(queries) % probe.shape[2], np.arange(keys) % probe.inputs["key"].shape[2]
    inputs: dict[str, NDArray[Any]] = {}
    for name, array in probe.inputs.items():
        match name:
            case "query":
                inputs[name] = array[:, :, of_query]
            case "key" | "value":
                inputs[name] = array[:, :, of_key]
            case "mask":
                columns = np.concatenate([np.arange(probe.past), probe.past + of_key])
                rows = of_query if array.shape[-2] > 1 else np.zeros(1, dtype=np.int64)
                inputs[name] = array[..., rows, :][..., columns]
            case _:
                inputs[name] = array
    return Probe(inputs, probe.attributes)

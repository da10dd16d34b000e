"""Which key head and batch entry each query head reads."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention.single_laws.probe import Probe, Reading

_SAME = {"float64": 1e-9, "float32": 1e-4}


class HeadMap(NamedTuple):
    """A map of query heads to key heads, `of` ``keys``, ``values`` or ``keys and values``, with its rule if any."""

    of: str
    heads: tuple[int, ...]
    rule: str


_RULES: dict[str, Callable[[int, int], NDArray[np.int64]]] = {
    "h % Hkv": lambda heads, groups: np.arange(heads) % groups,
    "Hkv - 1 - h // (Hq / Hkv)": lambda heads, groups: groups - 1 - np.arange(heads) // (heads // groups),
    "0": lambda heads, _: np.zeros(heads, dtype=np.int64),
    "min(h, Hkv - 1)": lambda heads, groups: np.minimum(np.arange(heads), groups - 1),
}


def head_map(reading: Reading, dtype: str) -> HeadMap | None:
    """Return the heads that were read, where they are others than the expected ones; None if not."""
    probe = reading.probe
    values, keys = _of_values(reading), _of_keys(reading, dtype)
    expected = tuple(probe.heads.tolist())
    if values in (None, expected) and keys in (None, expected):
        return None
    if values == keys or keys is None:
        what, heads = "keys and values" if values == keys else "values", values
    elif values in (None, expected):
        what, heads = "keys", keys
    else:
        what, heads = "values", values
    return None if heads is None else HeadMap(what, heads, _rule(heads, probe))


def _of_values(reading: Reading) -> tuple[int, ...] | None:
    """Return the value head that each query head read, by the marks; None where it is not one for each."""
    probe = reading.probe
    sources = np.where(probe.live[..., np.newaxis, np.newaxis], reading.sources, 0.0)
    own = sources[np.arange(probe.shape[0]), :, :, np.arange(probe.shape[0])]  # (B, Hq, Sq, Hkv): its own batch entry
    shares = own.sum(axis=(0, 2))
    heads = shares.argmax(axis=1)
    total = sources.sum(axis=(0, 2, 3, 4))
    if not (np.isfinite(shares).all() and (total > 0).all()):
        return None
    read = shares[np.arange(len(heads)), heads]
    return tuple(heads.tolist()) if (np.abs(read - total) <= 1e-6 * total).all() else None


def _of_keys(reading: Reading, dtype: str) -> tuple[int, ...] | None:
    """Return the key head whose products give the weights of each query head; None where that is not one."""
    probe = reading.probe
    found: list[int] = []
    slack = _SAME.get(dtype, np.inf)
    candidates = [
        probe.weights_of(
            probe.capped(probe.products_by(np.full(probe.shape[1], group)) * probe.scale) + probe.bias + probe.mask,
            probe.placing.attendable,
        )
        for group in range(probe.key_heads)
    ]
    for head, expected in enumerate(probe.heads):
        live = probe.live[:, head]
        near = [
            bool((np.abs(weights[:, head] - reading.weights[:, head]) <= slack)[live].all()) for weights in candidates
        ]
        if not any(near):
            return None
        found.append(int(expected) if near[expected] else near.index(True))
    return tuple(found)


def _rule(heads: tuple[int, ...], probe: Probe) -> str:
    for rule, of in _RULES.items():
        if tuple(of(probe.shape[1], probe.key_heads).tolist()) == heads:
            return rule
    expected = probe.heads
    for shift in range(1, probe.key_heads):
        if tuple(((expected + shift) % probe.key_heads).tolist()) == heads:
            return f"(h // (Hq / Hkv) + {shift}) % Hkv"
    for shift in range(1, probe.shape[1]):
        if tuple(expected[(np.arange(len(expected)) + shift) % len(expected)].tolist()) == heads:
            return f"(h + {shift}) % Hq // (Hq / Hkv)"
    return ""

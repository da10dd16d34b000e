"""Faults of the plainest call: features that do not count, and tiles that are merged wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention.single_laws.attended_laws import attended_in
from attnspec_probes.attention.single_laws.probe import Probe, read

if TYPE_CHECKING:
    from attnspec_probes import Calling
    from attnspec_probes.attention.single_laws.logit_laws import Rows

_SEED = 20
"""Any: numbers of probes only have to differ."""

_RISE = 12.0
"""How far the scores of a long row rise: each tile has a larger one than those before."""

_FEWEST = 2
"""A call that is wrong with so few keys is wrong with all: it has no length from which on it fails."""

_SAME_FACTOR = {"float64": 1e-7, "float32": 1e-3}


def plain_probe(keys: int, width: int = 4, queries: int = 3, value_width: int = 3, *, rising: bool = False) -> Probe:
    """Return a call without optional arguments, of one batch entry and head, that depends on its extents alone."""
    draw = np.random.default_rng((_SEED, keys, width, queries))
    query, key = draw.standard_normal((1, 1, queries, width)), draw.standard_normal((1, 1, keys, width))
    if rising:
        query[..., 0] = np.sqrt(width)
        key[..., 0] = np.linspace(0, _RISE, keys) + draw.standard_normal(keys)
    return Probe({"query": query, "key": key, "value": draw.standard_normal((1, 1, keys, value_width))}, {})


class FeatureLaw(NamedTuple):
    """The factor that each feature of query and key has in the scores, 1 where it is right (E)."""

    factors: NDArray[Any]

    @property
    def lost(self) -> tuple[int, ...]:
        """The features that do not count."""
        return tuple(np.flatnonzero(np.abs(self.factors) < 1e-6).tolist())


def feature_law(rows: Rows, probe: Probe) -> FeatureLaw | None:
    """Return the factor of each feature; None where they are all the same, or the rows are too few to see."""
    width = probe.inputs["query"].shape[-1]
    parts = probe.inputs["query"][:, :, :, np.newaxis] * probe.key[:, probe.heads][:, :, np.newaxis] * probe.scale
    columns = np.stack([rows.centred(parts[..., feature], is_part=True) for feature in range(width)], axis=1)
    measured = rows.measured[rows.telling] - rows.centred(probe.mask + probe.bias)
    if len(columns) < 2 * width or probe.softcap:
        return None
    factors, *_ = np.linalg.lstsq(columns, measured, rcond=None)
    residual = np.abs(columns @ factors - measured).max()
    if residual > 1e-8 * max(1.0, np.abs(measured).max()) or np.ptp(factors) < 1e-6:
        return None
    return FeatureLaw(np.where(np.abs(factors) < 1e-9, 0.0, factors))


class TileLaw(NamedTuple):
    """Runs of keys of a long row, from `starts`, and the factors of their weights: measured by expected, 0 if lost."""

    keys: int
    starts: tuple[int, ...]
    factors: tuple[float, ...]


def tile_law(calling: Calling, dtype: str, keys: int) -> TileLaw | None:
    """Return the runs of wrong weights in a long row; None where they are right, or are no runs."""
    reading = read(plain_probe(keys, rising=True), calling, dtype)
    if reading is None or not np.isfinite(reading.weights).all():
        return None
    expected = reading.probe.weights[0, 0]
    factors = reading.weights[0, 0] / expected
    slack = _SAME_FACTOR.get(dtype, np.inf)
    if (np.abs(factors - 1) <= slack).all():
        return None
    steps = (np.abs(np.diff(factors, axis=-1)) > slack * np.abs(factors[:, :-1]).clip(slack)).any(axis=0)
    starts = (0, *(np.flatnonzero(steps) + 1).tolist())
    if len(starts) > keys // 2:
        return None
    attended = attended_in(reading)[0, 0]
    row = int(np.argmax(np.abs(factors - 1).max(axis=-1)))
    reported = tuple(float(factors[row, start]) if attended[row, start] else 0.0 for start in starts)
    return TileLaw(keys, starts, reported)


_FEW_QUERIES = (3, 5)
"""Numbers of queries, fewer than keys, of which each ends the keys where they are taken for each other."""


def ends_at_queries(calling: Calling, dtype: str) -> bool:
    """Return whether the keys that are attended end at the number of queries."""
    for queries in _FEW_QUERIES:
        reading = read(plain_probe(4 * queries, queries=queries), calling, dtype)
        if reading is None or not (attended_in(reading) == (np.arange(4 * queries) < queries)).all():
            return False
    return True


def first_wrong_length(calling: Calling, dtype: str, longest: int) -> int | None:
    """Return the fewest keys with which a plain call of rising scores fails, as `longest` do; None for up to two."""
    right, wrong = 1, longest
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if plain_probe(middle, rising=True).fails(calling, dtype):
            wrong = middle
        else:
            right = middle
    return wrong if wrong > _FEWEST else None

"""Keys that each query may attend: masks, causality, windows, lengths, and the positions that they depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from attnspec.families.record import Arrays


_LARGEST_BLOCK = 2**20
"""Elements from which on the range of values is taken a feature at a time: more would not fit into a cache."""


class Attendance(NamedTuple):
    """Keys and queries of one call: `attendable` (B, Hq, Sq, P + Sk); `padding` (B, Hq, Sq), queries that do not count.

    `offset` is the first query's position among the keys, a number or (B, 1, 1, 1); `query_positions` are those of
    queries that are not consecutive, and have no offset. `everywhere`: each query may attend each key, and some exist.
    """

    attendable: NDArray[np.bool_]
    offset: NDArray[np.int64] | int
    padding: NDArray[np.bool_] | None
    everywhere: bool
    query_positions: NDArray[np.int64] | None = None

    @property
    def fully_masked(self) -> NDArray[np.bool_] | None:
        """Queries (B, Hq, Sq) that count and have no key; None where there are none."""
        fully_masked = ~np.any(self.attendable, axis=-1)
        if self.padding is not None:
            fully_masked &= ~self.padding
        return fully_masked if fully_masked.any() else None

    @property
    def position(self) -> NDArray[np.int64]:
        """Where each query stands among the keys (B or 1, 1, Sq, 1)."""
        return _placed(self.attendable.shape[-2], self.offset, self.query_positions)

    @property
    def distance(self) -> NDArray[np.int64]:
        """How far each key lies from each query (B or 1, 1, Sq, P + Sk)."""
        key = np.arange(self.attendable.shape[-1], dtype=np.int64)
        return np.abs(self.position - key)


def attendance(
    shape: tuple[int, ...],
    past: int,
    inputs: Arrays,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    window: Sequence[int | None] | None = None,
    query_positions: NDArray[np.int64] | None = None,
) -> Attendance:
    """Return which key each query may attend, for the shape (B, Hq, Sq, P + Sk) of which `past` is P.

    Read from the inputs are ``mask``, ``key_lengths`` and ``query_lengths``. `query_positions` (Sq,) among the
    keys count whatever the alignment; None for consecutive ones.
    """
    rows, columns = shape[-2:]
    mask, key_lengths, query_lengths = inputs.get("mask"), inputs.get("key_lengths"), inputs.get("query_lengths")
    offset: NDArray[np.int64] | int = past
    if causal_alignment == "bottom_right":
        offset = _lengths_of_batch(key_lengths, columns) - _lengths_of_batch(query_lengths, rows)
    attendable = np.ones(shape, dtype=np.bool_)
    if mask is not None:
        attendable &= mask if mask.dtype == np.bool_ else mask != -np.inf
    if key_lengths is not None:
        attendable &= np.arange(columns) < _lengths_of_batch(key_lengths, columns)
    if is_causal or window:
        ahead = np.arange(columns) - _placed(rows, offset, query_positions)
        left, right = window or (None, None)
        if is_causal:
            attendable &= ahead <= 0
        if left is not None:
            attendable &= ahead >= -left
        if right is not None:
            attendable &= ahead <= right
    padding = None
    if query_lengths is not None and (query_lengths < rows).any():
        padding = np.broadcast_to(np.arange(rows) >= query_lengths.reshape(-1, 1, 1), shape[:-1])
    return Attendance(attendable, offset, padding, bool(attendable.size and attendable.all()), query_positions)


def positions(rows: int, offset: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return where queries stand among the keys (B or 1, 1, rows, 1)."""
    return np.arange(rows, dtype=np.int64).reshape(1, 1, -1, 1) + offset


def range_of_live_values(value: NDArray[Any], live: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return, for each query and feature, the smallest and the largest value that may be attended; NaN for none."""
    if value.shape[-2] == 0:
        nothing = np.full((*live.shape[:-1], value.shape[-1]), np.nan)
        return nothing, nothing
    if live.size * value.shape[-1] > _LARGEST_BLOCK and value.shape[-1] > 1:
        features = [range_of_live_values(value[..., [feature]], live) for feature in range(value.shape[-1])]
        lowest, highest = zip(*features, strict=True)
        return np.concatenate(lowest, axis=-1), np.concatenate(highest, axis=-1)
    values = np.where(live[..., None], value[..., None, :, :], np.nan)
    return np.fmin.reduce(values, axis=-2), np.fmax.reduce(values, axis=-2)


def _placed(rows: int, offset: NDArray[np.int64] | int, query_positions: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return positions(rows, offset) if query_positions is None else query_positions.reshape(1, 1, -1, 1)


def _lengths_of_batch(lengths: NDArray[Any] | None, default: int) -> Any:
    """Return lengths in the shape (B, 1, 1, 1), or the number that stands for all of them."""
    return default if lengths is None else lengths.reshape(-1, 1, 1, 1)

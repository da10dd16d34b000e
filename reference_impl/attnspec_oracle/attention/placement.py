"""Where the queries of a batch stand among its keys: what causality, the window, lengths and ALiBi refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.exact import ExactArray, exact_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Placement:
    """Absolute positions of queries, and the lengths that count.

    Attributes
    ----------
    queries
        int64, (B, Sq): the position of each query among the keys.
    keys
        The number of keys, past ones included; key j stands at position j.
    key_lengths, query_lengths
        int64, (B,): how many keys may be attended, and how many queries are no padding.
    """

    queries: NDArray[np.int64]
    keys: int
    key_lengths: NDArray[np.int64]
    query_lengths: NDArray[np.int64]

    @property
    def distances(self) -> NDArray[np.int64]:
        """(B, Sq, keys): how far a key is ahead of a query; negative behind it."""
        return np.arange(self.keys) - self.queries[:, :, np.newaxis]

    @property
    def live(self) -> NDArray[np.bool_]:
        """(B, 1, Sq, 1): whether a query is no padding."""
        length: int = self.queries.shape[1]
        rows = np.arange(length) < self.query_lengths[:, np.newaxis]
        return rows[:, np.newaxis, :, np.newaxis]

    def attendable(self, *, is_causal: bool, window: Sequence[int | None] | None) -> NDArray[np.bool_]:
        """(B, 1, Sq, keys): which keys lengths, causality and the window leave to a query."""
        left, right = (None, None) if window is None else window
        for side in (left, right):
            if side is not None and side < 0:
                raise ValueError(f"A side of the window must be 0 or more, or None for an open side, not {side!r}.")
        distances = self.distances
        attendable = np.arange(self.keys) < self.key_lengths[:, np.newaxis, np.newaxis]
        attendable = np.broadcast_to(attendable, distances.shape)
        if is_causal:
            attendable = attendable & (distances <= 0)
        if left is not None:
            attendable = attendable & (distances >= -left)
        if right is not None:
            attendable = attendable & (distances <= right)
        return attendable[:, np.newaxis]

    def distance_penalties(self, slopes: NDArray[Any]) -> ExactArray:
        """(B, Hq, Sq, keys): ALiBi's addend, minus the slope (Hq,) of the head times the distance."""
        exact = exact_array(slopes).rearranged(lambda moved: moved[:, np.newaxis, np.newaxis])
        distances = abs(self.distances)[:, np.newaxis]
        with np.errstate(invalid="ignore"):
            nonfinite = np.where(exact.nonfinite == 0, 0.0, -exact.nonfinite * distances)
        return ExactArray(-exact.integers * distances.astype(object), exact.exponent, nonfinite)


def placed(
    *,
    batch: int,
    queries: int,
    keys: int,
    past: int = 0,
    causal_alignment: str = "top_left",
    key_lengths: NDArray[Any] | None = None,
    query_lengths: NDArray[Any] | None = None,
) -> Placement:
    """Find where the queries of every batch item stand.

    Parameters
    ----------
    batch, queries, keys
        B, Sq, and the number of keys, past ones included.
    past
        How many of the keys are past ones.
    causal_alignment
        ``top_left``: the first query stands right after the past. ``bottom_right``: the last query that is no
        padding stands at the last key that counts.
    key_lengths, query_lengths
        (B,), or None when everything counts.

    Raises
    ------
    ValueError
        When the alignment is unknown, a length does not fit, or lengths are combined with a past.
    """
    if past and (key_lengths is not None or query_lengths is not None):
        raise ValueError("A past is never combined with key_lengths or query_lengths.")
    key_ends = _lengths("key_lengths", key_lengths, batch, keys)
    query_ends = _lengths("query_lengths", query_lengths, batch, queries)
    offsets = {"top_left": np.full(batch, past), "bottom_right": key_ends - query_ends}
    if causal_alignment not in offsets:
        raise ValueError(f"causal_alignment must be 'top_left' or 'bottom_right', not {causal_alignment!r}.")
    positions = np.arange(queries) + offsets[causal_alignment][:, np.newaxis]
    return Placement(positions, keys, key_ends, query_ends)


def _lengths(name: str, lengths: NDArray[Any] | None, batch: int, greatest: int) -> NDArray[np.int64]:
    if lengths is None:
        return np.full(batch, greatest, dtype=np.int64)
    integers = np.asarray(lengths).astype(np.int64)
    if integers.shape != (batch,) or (integers != lengths).any() or (integers < 0).any() or (integers > greatest).any():
        raise ValueError(
            f"{name} must hold {batch} integers from 0 to {greatest}, one for each batch item, "
            f"not {np.asarray(lengths).tolist()}."
        )
    return integers

"""Error of a projected query, and how it moves weights and output: it is one error, which all keys meet.

The errors of projected keys are independent of each other. A feature of a query that is off by d moves every logit by d
times that feature of the key, all at once: a share moves by how far its key lies from the average key of the row, and
an output by how keys and values go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MOST = 2.0**64
"""A share that moves by so many times itself has no digit left; 0 times an infinity would be NaN."""


@dataclass(frozen=True)
class ProjectedQuery:
    """Absolute errors (B, H, Sq, E) of a query, runs in front where they differ, keys (B, H, K, E), and the scale."""

    error: NDArray[Any]
    key: NDArray[Any]
    factor: float

    def moves_of_shares(self, shares: NDArray[Any]) -> NDArray[Any]:
        """Return how far each share (B, H, Sq, K) moves, with the runs in front where there are several."""
        moved: Any = 0.0
        for error, key in self._features():
            average = np.vecdot(shares, key)[..., np.newaxis]
            moved = np.hypot(moved, error * (key - average))
        return shares * np.minimum(moved, _MOST)

    def moves_of_output(self, shares: NDArray[Any], value: NDArray[Any], output: NDArray[Any]) -> NDArray[Any]:
        """Return how far each element of the output (B, H, Sq, Ev) moves, runs in front; `shares` (B, H, Sq, K)."""
        moved: Any = 0.0
        # Around a typical output, little of the difference cancels.
        typical = output.sum(axis=-2, keepdims=True) / max(output.shape[-2], 1)
        value, output = value - typical, output - typical
        for error, key in self._features():
            weighed = shares * key
            together = weighed @ value - weighed.sum(axis=-1, keepdims=True) * output
            moved = np.hypot(moved, error * together)
        return moved

    def _features(self) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield, feature by feature, scaled errors (..., B, H, Sq, 1) and keys (B, H, 1, K)."""
        for feature in range(self.key.shape[-1]):
            yield abs(self.factor) * self.error[..., [feature]], self.key[..., np.newaxis, :, feature]

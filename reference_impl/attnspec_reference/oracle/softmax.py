"""The softmax of an array of exact logits: certified where all is finite, and IEEE 754 where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attnspec_reference.oracle.certification import certify
from attnspec_reference.oracle.exact import overridden
from attnspec_reference.oracle.rows import RowLogits, RowLogSumExp, RowWeights, SoftmaxRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_reference.oracle.exact import ExactArray
    from attnspec_reference.oracle.logits import ExactLogits


@dataclass(frozen=True)
class Softmax:
    """The softmax of an array of exact logits along its last axis.

    Attributes
    ----------
    logits
        (..., keys).
    attended
        bool, (..., keys): whether the key may be attended.
    """

    logits: ExactLogits
    attended: NDArray[np.bool_]

    @classmethod
    def over_every_key(cls, logits: ExactLogits) -> Softmax:
        """Let every key be attended."""
        return cls(logits, np.ones(logits.shape, dtype=np.bool_))

    @cached_property
    def _poisoned(self) -> NDArray[np.bool_]:
        """(...), the rows in which IEEE arithmetic meets inf - inf or a NaN."""
        nonfinite = np.where(self.attended, self.logits.nonfinite, -np.inf)
        nothing_left = self.attended.any(axis=-1) & (nonfinite == -np.inf).all(axis=-1)
        return (np.isnan(nonfinite) | (nonfinite == np.inf)).any(axis=-1) | nothing_left

    @cached_property
    def rows(self) -> list[SoftmaxRow]:
        """The rows, in row-major order."""
        counted = self.attended & (self.logits.nonfinite == 0) & ~self._poisoned[..., np.newaxis]
        columns = self.logits.shape[-1]
        flags = counted.reshape(len(terms := self.logits.rows()), columns).tolist()
        return [SoftmaxRow(self.logits, row, counts) for row, counts in zip(terms, flags, strict=True)]

    def rounded_logits(self, output: str) -> NDArray[np.float64]:
        """Round the logits, (..., keys): -inf where a key may not be attended."""
        quantities = [RowLogits(self.logits, terms) for terms in self.logits.rows()]
        values = overridden(certify(output, quantities, self.logits.shape), self.logits.nonfinite)
        return np.where(self.attended, values, -np.inf)

    def weights(self, output: str) -> NDArray[np.float64]:
        """Round the weights, (..., keys): 0 in a row without keys."""
        values = certify(output, [RowWeights(row) for row in self.rows], self.logits.shape)
        return np.where(self._poisoned[..., np.newaxis], np.nan, values)

    def logsumexp(self, output: str) -> NDArray[np.float64]:
        """Round the logarithm of the sum of the exponentials, (...): -inf in a row without keys."""
        shape = self.logits.shape[:-1]
        values = certify(output, [RowLogSumExp(row) for row in self.rows], (*shape, 1)).reshape(shape)
        return np.where(self._poisoned, np.nan, np.where(self.attended.any(axis=-1), values, -np.inf))

    def nonfinite_means(self, values: ExactArray) -> NDArray[np.float64]:
        """Give the NaN and infinities among the means of values (..., keys, width): (..., queries, width).

        A value at a key that may not be attended reaches nothing; one at a key whose weight is 0 because
        its logit is -inf gives NaN.
        """
        poisoned = np.where(self._poisoned, np.nan, 0.0)[..., np.newaxis]
        if not values.nonfinite.any():
            return np.broadcast_to(poisoned, (*self.logits.shape[:-1], values.shape[-1]))
        attended = self.attended[..., np.newaxis]
        weightless = (self.logits.nonfinite == -np.inf)[..., np.newaxis]
        with np.errstate(invalid="ignore"):
            terms = values.nonfinite[..., np.newaxis, :, :]
            terms = np.where(attended, np.where(weightless, terms * 0.0, terms), 0.0)
            return terms.sum(axis=-2) + poisoned

"""The softmax of an array of exact logits: certified where all is finite, and IEEE 754 where it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attnspec_oracle.attention.rows import RowLogits, RowLogSumExp, RowWeights, SoftmaxRow
from attnspec_oracle.certification import certify
from attnspec_oracle.exact import overridden

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_oracle.attention.logits import ExactLogits
    from attnspec_oracle.certification import Elements
    from attnspec_oracle.exact import ExactArray


@dataclass(frozen=True)
class Softmax:
    """The softmax of an array of exact logits along its last axis.

    Attributes
    ----------
    logits
        (..., columns). A column is a key, or the sink.
    attended
        bool, (..., columns): whether the column is in the sum.
    """

    logits: ExactLogits
    attended: NDArray[np.bool_]
    _rows: dict[int, SoftmaxRow] = field(init=False, repr=False, compare=False, default_factory=dict[int, SoftmaxRow])

    @classmethod
    def over_every_key(cls, logits: ExactLogits) -> Softmax:
        """Let every key be attended."""
        return cls(logits, np.ones(logits.shape, dtype=np.bool_))

    @cached_property
    def poisoned(self) -> NDArray[np.bool_]:
        """(...), the rows in which IEEE arithmetic meets inf - inf or a NaN."""
        nonfinite = np.where(self.attended, self.logits.nonfinite, -np.inf)
        nothing_left = self.attended.any(axis=-1) & (nonfinite == -np.inf).all(axis=-1)
        return (np.isnan(nonfinite) | (nonfinite == np.inf)).any(axis=-1) | nothing_left

    @cached_property
    def _counted(self) -> NDArray[np.bool_]:
        """(rows, columns), whether a column is in the certified sum of its row."""
        counted = self.attended & (self.logits.nonfinite == 0) & ~self.poisoned[..., np.newaxis]
        return counted.reshape(self.poisoned.size, self.logits.shape[-1])

    def row(self, index: int) -> SoftmaxRow:
        """Give a row by its row-major index."""
        if index not in self._rows:
            self._rows[index] = SoftmaxRow(self.logits, self.logits.row(index), self._counted[index].tolist())
        return self._rows[index]

    def weights(self, output: str, elements: Elements, keys: int | None = None) -> NDArray[np.float64]:
        """Round the weights of the first ``keys`` columns, or of all, (..., keys): 0 in a row without columns."""
        shape = (*self.logits.shape[:-1], self.logits.shape[-1] if keys is None else keys)
        values = certify(output, lambda index: RowWeights(self.row(index)), shape, elements)
        return np.where(self.poisoned[..., np.newaxis], np.nan, values)

    def logsumexp(self, output: str, elements: Elements) -> NDArray[np.float64]:
        """Round the logarithm of the sum of the exponentials, (...): -inf in a row without columns."""
        shape = self.logits.shape[:-1]
        values = certify(output, lambda index: RowLogSumExp(self.row(index)), (*shape, 1), elements).reshape(shape)
        return np.where(self.poisoned, np.nan, np.where(self.attended.any(axis=-1), values, -np.inf))

    def nonfinite_means(self, values: ExactArray) -> NDArray[np.float64]:
        """Give the NaN and infinities among the means of values (..., columns, width): (..., queries, width).

        A value at a key that may not be attended reaches nothing; one at a key whose weight is 0 because
        its logit is -inf gives NaN.
        """
        poisoned = np.where(self.poisoned, np.nan, 0.0)[..., np.newaxis]
        if not values.nonfinite.any():
            return np.broadcast_to(poisoned, (*self.logits.shape[:-1], values.shape[-1]))
        attended = self.attended[..., np.newaxis]
        weightless = (self.logits.nonfinite == -np.inf)[..., np.newaxis]
        with np.errstate(invalid="ignore"):
            terms = values.nonfinite[..., np.newaxis, :, :]
            terms = np.where(attended, np.where(weightless, terms * 0.0, terms), 0.0)
            return terms.sum(axis=-2) + poisoned


def rounded_logits(output: str, logits: ExactLogits, elements: Elements) -> NDArray[np.float64]:
    """Round logits, each for itself."""
    values = certify(output, lambda index: RowLogits(logits, logits.row(index)), logits.shape, elements)
    return overridden(values, logits.nonfinite)

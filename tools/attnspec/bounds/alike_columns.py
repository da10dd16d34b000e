"""Features that carry one and the same error, since equal columns of a weight projected them.

The errors of features are taken as independent. Equal columns meet the same token and are summed in the same order: the
features agree to the last bit, and so do their errors. Summed again, as in a score or in a projection of the output,
they come to the sum of the factors that they meet, and not to the norm of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def alike_columns(weight: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return for each column of a weight (D, E) the number of its kind; None where no two are the same."""
    columns = weight.shape[1]
    # Mostly a single row sets all columns apart.
    if weight.size and np.unique(weight[0]).size == columns:
        return None
    kinds = np.unique(weight, axis=1, return_inverse=True)[1].reshape(-1)
    return None if np.unique(kinds).size == columns else kinds


def carried(error: NDArray[Any], factors: NDArray[Any], kinds: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the error (..., K) of ``x @ factors`` from absolute errors of x (..., E) and factors (..., E, K).

    Features of equal `kinds` (..., E) carry the same error; None where all are independent.
    """
    independent = np.sqrt(error**2 @ factors**2)
    if kinds is None:
        return independent
    # Sums in another order are independent after all: the error is no more than one of both.
    return np.maximum(independent, np.sqrt(error**2 @ gathered(factors, kinds) ** 2))


def gathered(factors: NDArray[Any], kinds: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return factors (..., E, K) with those of one kind summed at the index of the first, and 0 at the others."""
    if kinds is None:
        return factors
    same = kinds[..., :, np.newaxis] == kinds[..., np.newaxis, :]
    is_first = ~np.tril(same, -1).any(axis=-1)
    return (same & is_first[..., np.newaxis]) @ factors

"""Building blocks of cases with one feature a token, in which two heads ask of one key head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray


def asked(*queries: float) -> NDArray[np.float64]:
    """Let two heads ask the same queries, one feature wide, of one key head."""
    return np.broadcast_to(np.array(queries)[:, np.newaxis], (1, 2, len(queries), 1))


def row(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay one number for each token out as the tokens of one head, one feature wide."""
    return numbers.reshape(1, 1, -1, 1)


def shared(keys: int) -> Sizes:
    """Return sizes for three queries of two heads that share a key head."""
    return Sizes(1, 2, 1, 3, keys, 1)

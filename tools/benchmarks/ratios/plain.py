"""Plain attention, the yardstick of draws: a target as it is, so that it can be asked in a process of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPE = "float32"
dtypes = (DTYPE,)


def scaled_dot_product_attention(query: Any, key: Any, value: Any, **_: Any) -> Any:
    """Attend as a textbook does, whole and in the dtype of the inputs; what else is stated is left out."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(query.shape[-1]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    with np.errstate(all="ignore"):
        return weights / weights.sum(axis=-1, keepdims=True) @ value

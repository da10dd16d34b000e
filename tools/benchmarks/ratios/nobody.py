"""A target that answers at once, so that what is left is the time of this project."""

from __future__ import annotations

from typing import Any

import numpy as np

dtypes = ("float32",)


def scaled_dot_product_attention(query: Any, key: Any, value: Any, **_: Any) -> Any:
    """Return zeros."""
    del key
    return np.zeros((*query.shape[:3], value.shape[3]), query.dtype)

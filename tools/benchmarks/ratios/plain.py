"""Attention for the judge, as a textbook has it, which writes down how much processor time its own calls take."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

dtypes = ("float32",)

CALLS = Path(__file__).with_suffix(".seconds")
"""File beside this one to which each call appends its processor seconds, a line each."""


def scaled_dot_product_attention(query: Any, key: Any, value: Any) -> Any:
    """Attend with the whole matrix of scores, in the dtype of the inputs."""
    start = time.process_time()
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    output = weights / weights.sum(axis=-1, keepdims=True) @ value
    with CALLS.open("a", encoding="utf-8") as file:
        file.write(f"{time.process_time() - start}\n")
    return output

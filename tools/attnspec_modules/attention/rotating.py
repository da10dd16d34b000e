"""Rotations inside a layer, which multi-head attention does not have: left out where they can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_modules.attention.constructing import Sizes


def neutral(value: Any, query: tuple[int, ...], key: tuple[int, ...], sizes: Sizes) -> Any:
    """Return a fixed argument of a call; words stand for tables without any rotation."""
    del key
    tokens, width = query[-2], sizes.width // sizes.heads
    tables = {
        "positions": lambda: np.zeros((1, tokens), np.int64),
        "rotation": lambda: np.ones((tokens, width // 2), np.complex64),
        "cosine": lambda: np.ones((tokens, width)),
        "sine": lambda: np.zeros((tokens, width)),
        "half cosine": lambda: np.ones((tokens, width // 2)),
        "half sine": lambda: np.zeros((tokens, width // 2)),
        "cosine and sine": lambda: (np.ones((1, tokens, width)), np.zeros((1, tokens, width))),
    }
    return tables[value]() if isinstance(value, str) and value in tables else value


def without_rotation(layer: Any) -> None:
    """Have the functions and parts of a layer that rotate give back what they are given."""
    del layer

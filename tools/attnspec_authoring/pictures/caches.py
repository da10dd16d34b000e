"""Pictures of the operations of caches, of the worked examples on their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import attnspec_reference as reference
from attnspec_authoring.pictures.drawing import heat_map, picture


def write_paged_cache() -> str:
    """Draw the pages of a pool, two tokens and where each belongs, and the pages afterwards."""
    pages, slots = ([f"{name} {index}" for index in range(count)] for name, count in (("page", 3), ("slot", 2)))
    pool, keys, positions = np.arange(1.0, 7.0).reshape(3, 2, 1, 1), np.array([7.0, 8.0]), np.array([1, 2])
    tokens = keys.reshape(2, 1, 1)
    written = reference.write_paged_cache(
        pool,
        pool,
        tokens,
        tokens,
        page_indices=np.array([2, 0, 1]),
        page_starts=np.array([0, 1, 3]),
        batch_indices=np.array([0, 1]),
        positions=positions,
    )
    return picture(
        "Two tokens are written into pages of their sequences, each at its position",
        heat_map("key_pool", pool[:, :, 0, 0], rows=pages, columns=slots, digits=0),
        heat_map(
            "positions, and keys",
            np.stack([positions, keys], axis=1),
            rows=["sequence 0: page 2", "sequence 1: pages 0, 1"],
            columns=["position", "key"],
            digits=0,
        ),
        heat_map("present_key", written.present_key[:, :, 0, 0], rows=pages, columns=slots, digits=0),
    )


PICTURES: Mapping[str, Callable[[], str]] = {"write_paged_cache": write_paged_cache}
"""Operation to what draws its picture."""

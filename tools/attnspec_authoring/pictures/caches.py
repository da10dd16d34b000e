"""Pictures of the operations of caches, of the worked examples on their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from attnspec_authoring.pictures.drawing import heat_map, picture
from attnspec_authoring.pictures.tensors import tensors


def write_paged_cache() -> str:
    """Draw the pages of a pool, two tokens and where each belongs, and the pages afterwards."""
    case = tensors("caches/pages_digits")
    pages, slots = ([f"{name} {index}" for index in range(count)] for name, count in (("page", 3), ("slot", 2)))
    owners = ["page 2", "page 0, then 1"]
    return picture(
        "Two tokens are written into pages of their sequences, each at its position",
        heat_map("key_pool", case["key_pool"][:, :, 0, 0], rows=pages, columns=slots, digits=0),
        heat_map(
            "positions, and keys",
            np.stack([case["positions"], case["key"][:, 0, 0]], axis=1),
            rows=[f"sequence {sequence:g}: {owners[int(sequence)]}" for sequence in case["batch_indices"]],
            columns=["position", "key"],
            digits=0,
        ),
        heat_map("present_key", case["present_key"][:, :, 0, 0], rows=pages, columns=slots, digits=0),
    )


PICTURES: Mapping[str, Callable[[], str]] = {"write_paged_cache": write_paged_cache}
"""Operation to what draws its picture."""

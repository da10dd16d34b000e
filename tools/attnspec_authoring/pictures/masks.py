"""Picture of masks: four queries under the rules of the worked example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import attnspec_reference as reference
from attnspec_authoring.pictures.drawing import heat_map, picture

_CELL = 30
"""Width of a cell that holds one digit, so that six masks fit beside each other."""


def attention_mask() -> str:
    """Draw the masks of the worked example beside each other."""
    documents = np.array([[7, 7, 3, 3]])
    rules: Mapping[str, dict[str, Any]] = {
        "causal": {},
        "window [1, 0]": {"window": [1, 0]},
        "chunk 2": {"chunk": 2},
        "prefix 2": {"prefix_lengths": np.array([2])},
        "documents 7 7 3 3": {"query_documents": documents, "key_documents": documents},
    }
    maps = [
        _drawn(title, reference.attention_mask(query_length=4, is_causal=True, **rule)) for title, rule in rules.items()
    ]
    tree = reference.attention_mask(
        query_length=4, key_length=6, causal_alignment="bottom_right", parents=np.array([[-1, 0, 0, 1]])
    )
    return picture(
        "Four queries: causal, in a window, in chunks, with a prefix, in two documents, and as a draft tree",
        *maps,
        _drawn("draft tree, two past tokens", tree),
    )


def _drawn(title: str, given: reference.AttentionMask) -> Any:
    return heat_map(title, given.mask[0, 0].astype(np.float64), digits=0, cell=_CELL)


PICTURES: Mapping[str, Callable[[], str]] = {"attention_mask": attention_mask}
"""The picture of masks by name of the operation."""

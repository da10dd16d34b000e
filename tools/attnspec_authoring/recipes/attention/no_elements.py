"""Inputs that are as long as axes without elements ask, for attention and for its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import TOP_LEFT

if TYPE_CHECKING:
    from attnspec_authoring.recipes.attention.attention import Sizes


def alignment_of(sizes: Sizes) -> dict[str, Any]:
    """Return the alignment where it must be stated: where there are no queries, it is told where they would stand."""
    return {} if sizes.queries == sizes.keys or not sizes.batch else {"causal_alignment": TOP_LEFT}


def lengths_of(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return lengths of keys, and of both beside causality."""
    of_keys, of_queries = (np.array(lengths[: sizes.batch], np.int64) for lengths in ([3, 0], [2, 1]))
    return {
        "key_lengths": {"key_lengths": of_keys},
        "both_lengths_causal": {
            "key_lengths": of_keys,
            "query_lengths": np.minimum(of_queries, sizes.queries),
            "is_causal": True,
        },
    }


def mask_and_sinks_of(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return a mask of entries, queries and keys, and a sink for each head."""
    ordinary = np.arange(sizes.keys) % 3 != 1
    return {
        "boolean_mask": {"mask": np.broadcast_to(ordinary, (sizes.batch, 1, sizes.queries, sizes.keys)).copy()},
        "sinks": {"sinks": np.linspace(-1.0, 0.5, sizes.heads)},
    }

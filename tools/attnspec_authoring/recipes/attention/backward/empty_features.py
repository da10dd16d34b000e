"""Gradients without batch entries or queries beside each feature: what is asked of all of none is not refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import TOP_LEFT, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

WITHOUT: Mapping[str, tuple[str, Sizes]] = {
    "no_batch_entries": ("no batch entry", Sizes(0, 2, 1, 3, 4, 2)),
    "no_queries_of_two": ("no query", Sizes(2, 4, 1, 0, 3, 2)),
}


def features_of(sizes: Sizes) -> Mapping[str, dict[str, Any]]:
    """Return each feature with inputs that are as long as what there is none of."""
    entries, heads, queries, keys = sizes.batch, sizes.heads, sizes.queries, sizes.keys
    # Where there are no queries, it is still told where they would stand.
    aligned = {} if queries == keys or not entries else {"causal_alignment": TOP_LEFT}
    of_keys, of_queries = np.array([3, 0][:entries], np.int64), np.array([2, 1][:entries], np.int64)
    return {
        "key_lengths": {"key_lengths": of_keys},
        "both_lengths_causal": {
            "key_lengths": of_keys,
            "query_lengths": np.minimum(of_queries, queries),
            "is_causal": True,
        },
        "boolean_mask": {"mask": np.broadcast_to(np.arange(keys) % 3 != 1, (entries, 1, queries, keys)).copy()},
        "sinks": {"sinks": np.linspace(-1.0, 0.5, heads)},
        "alibi": {**aligned, "alibi_slopes": np.full(heads, 0.25)},
        "stored": {"derived": STORED},
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of each feature."""
    return tuple(
        gradients(f"{name}_{feature}", f"there is {what}, beside {feature.replace('_', ' ')}", sizes, **arguments)
        for name, (what, sizes) in WITHOUT.items()
        for feature, arguments in features_of(sizes).items()
    )

"""Attention without batch entries, heads or queries beside each feature: what is asked of all of none is not refused.

The longest of no lengths, the largest of no scores: code that asks for it ends in an error where nothing is to be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import TOP_LEFT, Sizes, attention

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

EVERY_OUTPUT = ("output", "weights", "logsumexp")
WITHOUT: Mapping[str, tuple[str, Sizes]] = {
    "no_batch_entries": ("no batch entry", Sizes(0, 2, 1, 3, 4, 2)),
    "no_queries": ("no query", Sizes(2, 3, 1, 0, 4, 2)),
    "no_heads": ("no head", Sizes(2, 0, 1, 3, 4, 2)),
}


def features_of(sizes: Sizes) -> Mapping[str, dict[str, Any]]:
    """Return each feature with inputs that are as long as what there is none of."""
    entries, heads, queries, keys = sizes.batch, sizes.heads, sizes.queries, sizes.columns
    # Where there are no queries, it is still told where they would stand.
    aligned = {} if queries == keys or not entries else {"causal_alignment": TOP_LEFT}
    ordinary = np.arange(keys) % 3 != 1
    of_keys, of_queries = np.array([3, 0][:entries], np.int64), np.array([2, 1][:entries], np.int64)
    lengths: dict[str, dict[str, Any]] = {
        "key_lengths": {"key_lengths": of_keys},
        "both_lengths_causal": {
            "key_lengths": of_keys,
            "query_lengths": np.minimum(of_queries, queries),
            "is_causal": True,
        },
    }
    return {
        **(lengths if heads else {}),
        "boolean_mask": {"mask": np.broadcast_to(ordinary, (entries, 1, queries, keys)).copy()},
        "float_mask": {"mask": np.zeros((entries, heads, queries, keys))},
        "sinks": {"sinks": np.linspace(-1.0, 0.5, heads).round(2)},
        "alibi": {**aligned, "alibi_slopes": np.array([0.5, 0.25, 0.125][:heads])},
        "window_softcap": {"window": [1, 0], "softcap": 2.0},
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of each feature and of a past."""
    made: list[AuthoredCase] = []
    for name, (what, sizes) in WITHOUT.items():
        for feature, arguments in features_of(sizes).items():
            made.append(
                attention(
                    f"stress/{name}_{feature}",
                    f"There is {what}, beside {feature.replace('_', ' ')}",
                    sizes,
                    outputs=EVERY_OUTPUT,
                    **arguments,
                )
            )
    past = Sizes(0, 2, 2, 3, 4, 2, past=3)
    return (
        *made,
        attention("stress/no_batch_entries_past", "There is no batch entry, beside a past", past),
    )

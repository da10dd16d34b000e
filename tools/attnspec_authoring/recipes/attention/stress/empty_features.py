"""Tensors without features, and inputs that are as long as axes without elements ask."""

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
    entries, heads, queries, keys = sizes.batch, sizes.heads, sizes.queries, sizes.keys
    return {
        **(lengths_of(sizes) if heads else {}),
        **mask_and_sinks_of(sizes),
        "float_mask": {"mask": np.zeros((entries, heads, queries, keys))},
        "alibi": {**alignment_of(sizes), "alibi_slopes": np.array([0.5, 0.25, 0.125][:heads])},
        "window_softcap": {"window": [1, 0], "softcap": 2.0},
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of each feature and of a past."""
    made: list[AuthoredCase] = []
    for name, (what, sizes) in WITHOUT.items():
        for feature, arguments in features_of(sizes).items():
            made.append(
                attention(f"stress/{name}_{feature}", f"There is {what}, beside {feature.replace('_', ' ')}")(
                    sizes, outputs=EVERY_OUTPUT, **arguments
                )
            )
    past = Sizes(0, 2, 2, 3, 4, 2, past=3)
    return (*made, attention("stress/no_batch_entries_past", "There is no batch entry, beside a past")(past))


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

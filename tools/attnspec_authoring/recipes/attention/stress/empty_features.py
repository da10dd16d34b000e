"""Attention without batch entries, heads or queries beside each feature: what is asked of all of none is not refused.

The longest of no lengths, the largest of no scores: code that asks for it ends in an error where nothing is to be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention
from attnspec_authoring.recipes.attention.no_elements import alignment_of, lengths_of, mask_and_sinks_of

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

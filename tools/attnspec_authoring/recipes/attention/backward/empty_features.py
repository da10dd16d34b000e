"""Gradients without batch entries or queries beside each feature: what is asked of all of none is not refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients
from attnspec_authoring.recipes.attention.no_elements import alignment_of, lengths_of, mask_and_sinks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

WITHOUT: Mapping[str, tuple[str, Sizes]] = {
    "no_batch_entries": ("no batch entry", Sizes(0, 2, 1, 3, 4, 2)),
    "no_queries_of_two": ("no query", Sizes(2, 4, 1, 0, 3, 2)),
}


def features_of(sizes: Sizes) -> Mapping[str, dict[str, Any]]:
    """Return each feature with inputs that are as long as what there is none of."""
    return {
        **lengths_of(sizes),
        **mask_and_sinks_of(sizes),
        "alibi": {**alignment_of(sizes), "alibi_slopes": np.full(sizes.heads, 0.25)},
        "stored": {"derived": STORED},
    }


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of each feature."""
    return tuple(
        gradients(f"{name}_{feature}", f"there is {what}, beside {feature.replace('_', ' ')}")(sizes, **arguments)
        for name, (what, sizes) in WITHOUT.items()
        for feature, arguments in features_of(sizes).items()
    )

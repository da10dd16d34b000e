"""Masks that hide whole tiles: who skips these has to find them for each head and each batch entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def tile_cases() -> tuple[AuthoredCase, ...]:
    """Hide whole tiles, others for each head or each batch entry: which may be skipped is to be found for each."""
    made: list[AuthoredCase] = []
    for of_queries, of_keys in ((4, 16), (8, 32)):
        for kind, sizes in (
            ("heads", Sizes(1, 2, 2, 2 * of_queries + 1, 2 * of_keys + 3, 1)),
            ("batch_entries", Sizes(2, 1, 1, 2 * of_queries + 1, 2 * of_keys + 3, 1)),
        ):
            queries, keys = np.arange(sizes.queries)[:, np.newaxis], np.arange(sizes.keys)
            one = (queries // of_queries + keys // of_keys) % 2 == 0
            seen = np.stack([one, ~one])[np.newaxis] if kind == "heads" else np.stack([one, ~one])[:, np.newaxis]
            name = f"masking/tiles_of_{of_queries}_by_{of_keys}_for_{kind}"
            made.append(
                attention(
                    name,
                    f"Tiles of {of_queries} queries and {of_keys} keys are hidden, others for each of two "
                    f"{kind.replace('_', ' ')}",
                )(sizes, clauses=("sdpa.mask.boolean", "sdpa.mask.broadcast"), mask=seen)
            )
    return tuple(made)

"""One query whose keys fall into parts, one of which may not be attended, and queries that exceed float16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, attention
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

KEYS = 16
FAR_BELOW = -800.0
"""No exponential of it is a number of float64: a maximum of 0, taken of a part without keys, hides all others."""


def cases() -> tuple[AuthoredCase, ...]:
    """Return cases of keys in parts, of which each head lacks another, and of large queries beside small keys."""
    made: list[AuthoredCase] = []
    for parts in (2, 4):
        case_id = f"stress/one_query_without_one_of_{parts}_parts"
        part = np.arange(KEYS) // (KEYS // parts)
        made.append(
            attention(
                case_id, f"One query with scores around -800, each head without another of {parts} parts of the keys"
            )(
                Sizes(3, parts, 1, 1, KEYS, 1),
                outputs=("output", "logsumexp"),
                query=np.full((3, parts, 1, 1), 16.0),
                key=np.repeat(row(FAR_BELOW / 16.0 - np.arange(KEYS) % 4 / 4.0), 3, axis=0),
                mask=(part != np.arange(parts)[:, np.newaxis])[:, np.newaxis],
                scale=1.0,
            )
        )
    scores = np.array([3.0, 1.0, 2.0, 4.0, 1.0, 2.0])
    return (
        *made,
        *(
            attention(
                f"stress/scaled_queries_beyond_float16_{name}",
                f"Queries that exceed float16 once they are multiplied by {scale:g}, and small keys",
            )(
                shared(6),
                query=asked(first, -first, first / 2.0),
                key=row(scores * 2.0**-13),
                value=row(grid(f"stress/scaled_queries_{name}/value", (6,))),
                scale=scale,
            )
            for name, scale, first in (("by_8", 8.0, 2.0**13), ("by_2", 2.0, 2.0**15))
        ),
    )

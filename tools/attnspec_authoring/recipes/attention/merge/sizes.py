"""Shapes: widths, heads, queries and batch entries, many, one and none, and equal ones that can be mistaken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import merging
from attnspec_authoring.recipes.authoring import WITHOUT_FLOAT16

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

WRONG_LAYOUT = "https://github.com/vllm-project/flash-attention/pull/87"
PADDED = "https://github.com/feifeibear/long-context-attention/issues/122"


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of shapes."""
    ladder = np.arange(129.0).reshape(1, 1, 129)
    return (
        merging("plain", "drawn numbers")((1, 2, 3, 4), ("average", "weights")),
        merging("outputs_tiny_beyond_float16", "outputs too small for float16")(
            (1, 2, 3, 2),
            dtypes=WITHOUT_FLOAT16,
            output_a=(np.arange(12.0).reshape(1, 2, 3, 2) + 3.0) * 2.0**-30,
            output_b=(np.arange(12.0).reshape(1, 2, 3, 2) - 5.0) * 2.0**-30,
        ),
        *(
            merging(
                f"outputs_of_which_two_exceed_float16_{name}",
                f"outputs of which two exceed float16 once they are added, {what}",
            )(
                (1, 2, 3, 2),
                output_a=(np.arange(12.0).reshape(1, 2, 3, 2) * 512.0 + 40960.0) * sign,
                output_b=(55296.0 - np.arange(12.0).reshape(1, 2, 3, 2) * 256.0) * sign,
                logsumexp_a=np.array([0.0, 0.5, 8.0, -0.25, 0.0, 1.0]).reshape(1, 2, 3),
                logsumexp_b=np.array([0.0, 0.25, 8.0, 0.0, -0.5, 1.0]).reshape(1, 2, 3),
            )
            for name, what, sign in (("above", "above zero", 1.0), ("below", "below zero", -1.0))
        ),
        merging("plain_other_numbers", "other numbers in the same shapes")((1, 2, 3, 4)),
        merging("batch", "two batch entries, three heads, four queries")((2, 3, 4, 2)),
        merging("one_query", "one query, as in decoding")((2, 3, 1, 4)),
        merging("width_33", "thirty-three features")((1, 1, 1, 33)),
        merging("width_64", "sixty-four features")((1, 1, 1, 64)),
        merging("width_80", "eighty features")((1, 1, 1, 80)),
        merging("width_128", "a hundred and twenty-eight features")((1, 1, 1, 128)),
        merging("width_133", "a hundred and thirty-three features")((1, 1, 1, 133)),
        merging("heads_9", "nine heads")((1, 9, 1, 2), url=WRONG_LAYOUT),
        merging("heads_33", "thirty-three heads")((1, 33, 1, 1)),
        merging("queries_17", "seventeen queries")((1, 1, 17, 1), url=PADDED),
        merging("queries_129", "a hundred and twenty-nine queries, whose parts are ever less alike")(
            (1, 1, 129, 1), ("average", "weights"), logsumexp_a=ladder / 16.0 - 4.0, logsumexp_b=0.5
        ),
        merging("as_many_heads_as_entries", "as many heads as batch entries")((3, 3, 2, 1)),
        merging("as_many_heads_as_queries", "as many heads as queries")((1, 3, 3, 2)),
        merging("as_many_queries_as_features", "as many queries as features")((1, 2, 4, 4)),
        merging("all_alike", "as many of everything")((2, 2, 2, 2)),
        merging("no_entries", "no batch entries")((0, 2, 3, 4)),
        merging("no_heads", "no heads")((2, 0, 3, 4)),
        merging("no_queries", "no queries")((2, 3, 0, 4)),
        merging("no_features", "no features")((1, 2, 3, 0)),
    )

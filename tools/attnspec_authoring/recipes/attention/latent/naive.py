"""Latent attention: keys and values of heads, both parts of a query, the scale, masks, and how inputs lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, TOP_CAUSAL, booleans, floats
from attnspec_authoring.recipes.attention.latent.latents import (
    BEYOND_FLOAT16,
    NAIVE,
    ONE_QUERY,
    Latents,
    first_two,
    latents,
    two_of,
)
from attnspec_authoring.recipes.authoring import WITHOUT_FLOAT16
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

ONE_ENTRY = Latents(batch=1)
SQUARE = Latents(batch=1, latent=3, content=3, value=3)
STEPS = "weights logsumexp scores logits output_latent"
TENSORS = ("query_content", "query_rotary", "latent", "key_rotary", "w_key", "w_value")
LAYOUTS = {
    "fortran": "with the first axis first in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "readonly": "where nobody may write",
}


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of latent attention without a past."""
    yield from form_cases()
    yield from scale_cases()
    yield from mask_cases()
    yield from number_cases()
    yield from memory_cases()


def form_cases() -> Iterator[AuthoredCase]:
    """Make keys and values of latents, in heads of every shape, and join the rotated parts."""
    yield latents("naive_plain", "two heads, two queries, three tokens")(clauses="precision.dtype", outputs=STEPS)
    yield latents("naive_square_matrices", "latents as wide as keys and values, whose matrices are square")(SQUARE)
    yield latents("naive_three_heads", "three heads of one batch entry")(Latents(batch=1, heads=3), outputs="weights")
    yield latents("naive_one_head", "one head")(Latents(heads=1, keys=4))
    yield latents("naive_heads_as_keys", "as many heads as keys and as queries")(
        Latents(batch=1, heads=3, queries=3, keys=3)
    )
    yield latents("naive_narrow_latents", "latents of two features for keys of five")(
        Latents(batch=1, latent=2, content=5, rotary=2, value=5)
    )
    yield latents("naive_wide_latents", "latents of nine features for keys of two")(
        Latents(batch=1, latent=9, content=2, rotary=2, value=2), outputs="weights"
    )
    yield latents("naive_rotary_wider", "rotated parts of four features beside others of two")(
        Latents(batch=1, rotary=4), outputs="scores"
    )
    yield latents("naive_rotary_alone", "content of zeros, so that the rotated parts alone decide")(
        Latents(batch=1, keys=4, rotary=2),
        clauses="rotary.parts rotary.shared",
        replaced={"query_content": np.zeros((1, 2, 2, 2))},
        outputs="weights",
    )
    yield latents("naive_content_alone", "rotated queries of zeros, so that the content alone decides")(
        ONE_ENTRY, clauses="keys", replaced={"query_rotary": np.zeros((1, 2, 2, 1))}, outputs="weights"
    )
    yield latents("naive_one_token", "one token, whose value is the output")(Latents(keys=1), clauses="output")
    yield latents("naive_one_query", "one query for each of three batch entries")(Latents(batch=3, queries=1, keys=4))
    yield latents("naive_widths_of_models", "the widths of a model divided by 32: 16 and 4 and 2")(
        Latents(batch=1, heads=2, queries=1, keys=3, latent=16, content=4, rotary=2, value=4),
        clauses="precision.accumulation",
    )


def scale_cases() -> Iterator[AuthoredCase]:
    """Take the default scale from both widths before absorption, its magnitude squared, and a stated one literally."""
    yield latents("naive_scale_stated", "a stated scale")(
        ONE_ENTRY, scale=0.25, outputs="scores", report="NVIDIA/TensorRT-LLM/issues/12089"
    )
    yield latents("naive_scale_stated_beside_magnitude", "a stated scale beside a magnitude, which has no part in it")(
        ONE_ENTRY, scale=0.75, magnitude=1.5, outputs="scores"
    )
    yield latents("naive_scale_of_zero", "a scale of zero, so that all tokens weigh alike")(ONE_ENTRY, scale=0.0)
    yield latents("naive_scale_of_sixteen", "widths of twelve and four, whose root is four")(
        Latents(batch=1, queries=1, latent=5, content=12, rotary=4, value=2), outputs="scores"
    )
    yield latents("naive_magnitude", "a magnitude of 1.25")(ONE_ENTRY, magnitude=1.25, outputs="scores logsumexp")
    yield latents("naive_magnitude_below_one", "a magnitude of a half")(SQUARE, magnitude=0.5)
    yield latents("naive_magnitude_causal", "a magnitude of 1.5 beside causality")(
        Latents(batch=1, queries=3, keys=3), magnitude=1.5, **TOP_CAUSAL
    )
    yield latents("naive_scale_changed", "the scale is changed alone in a second call")(
        ONE_ENTRY, scale=0.5, changed_argument=ChangedArgument("scale", 2.0)
    )
    yield latents("naive_magnitude_changed", "the magnitude is changed alone in a second call")(
        ONE_ENTRY, magnitude=1.0, changed_argument=ChangedArgument("magnitude", 2.0)
    )


def mask_cases() -> Iterator[AuthoredCase]:
    """Exclude tokens by masks, causality and lengths."""
    yield latents("naive_mask_boolean", "a Boolean mask for each head of each entry")(
        mask=booleans(2, 2, 2, 3), outputs="weights logits", changed_argument=ChangedArgument("mask", reversed=True)
    )
    yield latents("naive_mask_of_heads", "a float mask for each head")(
        ONE_ENTRY, mask=floats(2, 2, 3), outputs="logits"
    )
    yield latents("naive_mask_rank_2", "a Boolean mask of two axes, beside as many heads as entries")(
        mask=booleans(2, 3)
    )
    yield latents("naive_causal", "causal, as many queries as tokens")(
        Latents(batch=1, queries=3, keys=3),
        **TOP_CAUSAL,
        outputs="weights",
        changed_argument=ChangedArgument("is_causal", value=False),
    )
    yield latents("naive_causal_bottom", "causal from the bottom right, two queries for four tokens")(
        Latents(keys=4), **BOTTOM_CAUSAL, changed_argument=ChangedArgument("causal_alignment", "top_left")
    )
    yield latents("naive_lengths", "tokens and queries of different lengths, causal")(
        Latents(queries=3, keys=4), key_lengths=[4, 2], query_lengths=[3, 1], **BOTTOM_CAUSAL
    )
    yield latents("naive_key_lengths", "one token in one entry, three in the other")(
        key_lengths=[1, 3], outputs="weights logsumexp", changed_argument=ChangedArgument("key_lengths", reversed=True)
    )
    yield latents("naive_fully_masked", "a query that may attend to no token")(
        mask=np.array([[False, False, False], [True, False, True]]), outputs="weights logsumexp output_latent"
    )
    name = "naive_one_query_causal"
    yield latents(name, "one query, two of seventeen tokens that count, a mask")(
        ONE_QUERY, replaced=first_two(name, NAIVE, ONE_QUERY), **TOP_CAUSAL, **two_of(ONE_QUERY)
    )
    yield latents("naive_no_keys", "no tokens at all")(Latents(keys=0), outputs="logsumexp")


def number_cases() -> Iterator[AuthoredCase]:
    """Meet large scores, numbers beyond float16, and NaN, attended and excluded."""
    yield latents("naive_large_scores", "scores of thousands, of which one key takes all")(
        ONE_ENTRY, scale=1024.0, outputs="weights logsumexp"
    )
    name = "naive_beyond_float16"
    yield latents(name, "one query, tokens beyond float16")(
        ONE_QUERY,
        replaced=first_two(name, NAIVE, ONE_QUERY, BEYOND_FLOAT16),
        dtypes=WITHOUT_FLOAT16,
        scale=1 / BEYOND_FLOAT16,
        **TOP_CAUSAL,
        **two_of(ONE_QUERY),
    )
    nan = grid("latent/naive_nan_excluded/latent", (2, 3, 3))
    nan[0, 2, 1] = np.nan
    yield latents("naive_nan_excluded", "NaN in a latent behind the length of its entry")(
        replaced={"latent": nan}, key_lengths=[2, 3], outputs="weights"
    )
    yield latents("naive_nan_attended", "NaN in a latent that one query may not attend to")(
        Latents(queries=3, keys=3), replaced={"latent": nan}, **TOP_CAUSAL
    )
    rotary = grid("latent/naive_nan_rotary/key_rotary", (2, 3, 1))
    rotary[1, 1, 0] = np.nan
    yield latents("naive_nan_rotary", "NaN in a rotated key that a mask excludes")(
        replaced={"key_rotary": rotary}, mask=np.array([[True, False, True], [True, False, False]])
    )


def memory_cases() -> Iterator[AuthoredCase]:
    """Hand inputs over in other memory layouts, and change one alone in a second call."""
    for number, (order, how) in enumerate(LAYOUTS.items()):
        first, second = TENSORS[number % 6], TENSORS[(number + 3) % 6]
        yield latents(f"naive_{order}", f"{first} and {second} {how}")(memory_order={first: order, second: order})
    yield latents("naive_fortran_matrices", "matrices with the first axis first in memory")(
        memory_order={"w_key": "fortran", "w_value": "fortran"}
    )
    for tensor in TENSORS:
        yield latents(f"naive_other_{tensor}", f"{tensor} is changed alone in a second call")(
            ONE_ENTRY, changed_argument=ChangedArgument(tensor, reversed=True)
        )

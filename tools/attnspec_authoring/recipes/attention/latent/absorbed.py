"""Absorbed latent attention: latents as keys and values of all heads, and a scale that is always stated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, TOP_CAUSAL, booleans, floats
from attnspec_authoring.recipes.attention.latent.latents import (
    ABSORBED,
    BEYOND_FLOAT16,
    ONE_QUERY,
    Latents,
    first_two,
    latents,
    two_of,
)
from attnspec_authoring.recipes.attention.latent.naive import LAYOUTS
from attnspec_authoring.recipes.authoring import WITHOUT_FLOAT16, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

absorbed = table(latents, of=ABSORBED)
TENSORS = ("query_latent", "query_rotary", "latent", "key_rotary")


def cases() -> Iterator[AuthoredCase]:
    """Return the cases of absorbed latent attention, as kernels compute it."""
    yield absorbed("absorbed_plain", "two heads, two queries, three tokens")(
        clauses="precision.dtype", outputs="weights logsumexp scores logits"
    )
    yield absorbed("absorbed_scale", "the scale of heads of twelve and four features, whose latents have six")(
        Latents(batch=1, latent=6), scale=0.25, outputs="scores", report="NVIDIA/TensorRT-LLM/issues/12089"
    )
    yield absorbed(
        "absorbed_scale_of_one", "a scale of one, and widths of latents and rotated keys whose root is three"
    )(Latents(batch=1, latent=7, rotary=2), scale=1.0, outputs="scores")
    yield absorbed("absorbed_scale_of_zero", "a scale of zero, so that all tokens weigh alike")(
        Latents(batch=1), scale=0.0
    )
    yield absorbed("absorbed_three_heads", "three heads of one batch entry, as many as tokens")(
        Latents(batch=1, heads=3), outputs="weights"
    )
    yield absorbed("absorbed_one_head", "one head, one query for each of three entries")(
        Latents(batch=3, heads=1, queries=1, keys=4)
    )
    yield absorbed("absorbed_rotary_wider", "rotated parts of five features beside latents of two")(
        Latents(batch=1, latent=2, rotary=5), outputs="scores"
    )
    yield absorbed("absorbed_rotary_alone", "absorbed queries of zeros, so that the rotated parts alone decide")(
        Latents(batch=1), clauses="scores shared", replaced={"query_latent": np.zeros((1, 2, 2, 3))}, outputs="weights"
    )
    yield absorbed("absorbed_one_token", "one token, whose latent is the output")(
        Latents(keys=1), clauses="output_latent"
    )
    yield absorbed("absorbed_widths_of_models", "latents of 16 features, four heads and one query")(
        Latents(batch=1, heads=4, queries=1, keys=3, latent=16, rotary=2), scale=0.28125
    )
    yield absorbed("absorbed_many_tokens", "forty tokens, one query")(
        Latents(batch=1, heads=2, queries=1, keys=40, latent=3), clauses="precision.accumulation", outputs="logsumexp"
    )
    yield absorbed("absorbed_large_scores", "scores of thousands, of which one key takes all")(
        scale=1024.0, outputs="weights logsumexp"
    )
    yield absorbed("absorbed_reversed_scores", "a negative scale of thousands, under which the worst key takes all")(
        Latents(batch=1), scale=-1024.0
    )
    yield from mask_cases()
    yield from number_cases()
    yield from memory_cases()


def mask_cases() -> Iterator[AuthoredCase]:
    """Exclude tokens by masks, causality and lengths."""
    yield absorbed("absorbed_mask_boolean", "a Boolean mask for each head of each entry")(
        mask=booleans(2, 2, 2, 3), outputs="weights", changed_argument=ChangedArgument("mask", reversed=True)
    )
    yield absorbed("absorbed_mask_of_heads", "a float mask for each head")(Latents(batch=1), mask=floats(2, 2, 3))
    yield absorbed("absorbed_causal", "causal, as many queries as tokens")(
        Latents(batch=1, queries=3, keys=3),
        **TOP_CAUSAL,
        outputs="weights",
        changed_argument=ChangedArgument("is_causal", value=False),
    )
    yield absorbed(
        "absorbed_causal_bottom", "causal from the bottom right, two queries in three heads for five tokens"
    )(Latents(heads=3, keys=5), **BOTTOM_CAUSAL, changed_argument=ChangedArgument("causal_alignment", "top_left"))
    yield absorbed("absorbed_lengths", "tokens and queries of different lengths, causal")(
        Latents(queries=3, keys=4), key_lengths=[4, 2], query_lengths=[3, 1], **BOTTOM_CAUSAL
    )
    yield absorbed("absorbed_key_lengths", "one token in one entry, three in the other")(
        key_lengths=[1, 3], outputs="logsumexp", changed_argument=ChangedArgument("key_lengths", reversed=True)
    )
    yield absorbed("absorbed_fully_masked", "a query that may attend to no token")(
        mask=np.array([[False, False, False], [True, False, True]]), outputs="weights logsumexp"
    )
    yield absorbed("absorbed_no_keys", "no tokens at all")(Latents(keys=0), outputs="logsumexp")


def number_cases() -> Iterator[AuthoredCase]:
    """Meet numbers beyond float16, and NaN, attended and excluded."""
    one_query = (("", "", ONE_QUERY), ("_heads", " of two heads", replace(ONE_QUERY, heads=2, keys=4)))
    for suffix, of, sizes in one_query:
        name = f"absorbed_beyond_float16{suffix}"
        yield absorbed(name, f"one query{of}, tokens beyond float16")(
            sizes,
            replaced=first_two(name, ABSORBED, sizes, BEYOND_FLOAT16),
            dtypes=WITHOUT_FLOAT16,
            scale=1 / BEYOND_FLOAT16,
            **TOP_CAUSAL,
            **two_of(sizes),
        )
    nan = grid("latent/absorbed_nan_excluded/latent", (2, 3, 3))
    nan[0, 2, 1] = np.nan
    yield absorbed("absorbed_nan_excluded", "NaN in a latent behind the length of its entry")(
        replaced={"latent": nan}, key_lengths=[2, 3], outputs="weights"
    )
    rotated = grid("latent/absorbed_nan_rotary/key_rotary", (2, 3, 1))
    rotated[1, 1, 0] = np.nan
    yield absorbed("absorbed_nan_rotary", "NaN in a rotated key that one query may attend to")(
        replaced={"key_rotary": rotated}, mask=np.array([[True, False, True], [True, True, False]])
    )
    yield absorbed("absorbed_nan_attended", "NaN in a latent that one query may not attend to")(
        Latents(queries=3, keys=3), replaced={"latent": nan}, **TOP_CAUSAL
    )


def memory_cases() -> Iterator[AuthoredCase]:
    """Hand inputs over in other memory layouts, and change one alone in a second call."""
    for number, (order, how) in enumerate(LAYOUTS.items()):
        first, second = TENSORS[number % 4], TENSORS[(number + 2) % 4]
        yield absorbed(f"absorbed_{order}", f"{first} and {second} {how}")(memory_order={first: order, second: order})
    yield absorbed("absorbed_fortran_rotated", "rotated parts with the first axis first in memory")(
        Latents(rotary=2), memory_order={"query_rotary": "fortran", "key_rotary": "fortran"}
    )
    for tensor in TENSORS:
        yield absorbed(f"absorbed_other_{tensor}", f"{tensor} is changed alone in a second call")(
            Latents(batch=1), changed_argument=ChangedArgument(tensor, reversed=True)
        )
    yield absorbed("absorbed_other_scale", "the scale is changed alone in a second call")(
        Latents(batch=1), changed_argument=ChangedArgument("scale", 2.0)
    )

"""Caches of latents: past latents and rotated keys before the new ones, and what is kept of both."""

from __future__ import annotations

from dataclasses import replace
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
)
from attnspec_authoring.recipes.authoring import WITHOUT_FLOAT16, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

PRESENT = "present_latent present_key_rotary"
TWO_NEW = Latents(queries=2, keys=2, past=3)
DECODE = Latents(batch=1, queries=1, keys=1, past=4)


def cases() -> Iterator[AuthoredCase]:
    """Return the cases with a past."""
    case = table(latents, clauses="past.concatenation")
    yield case("cache_two_new", "three past tokens and two new ones")(TWO_NEW, outputs=f"weights {PRESENT}")
    yield case("cache_decode", "four past tokens and a new one with its query")(DECODE, outputs=PRESENT)
    yield case("cache_decode_causal", "four past tokens and a new one, causal")(DECODE, **TOP_CAUSAL, outputs="weights")
    yield case("cache_causal", "three past tokens and two new ones, causal")(TWO_NEW, **TOP_CAUSAL, outputs="weights")
    yield case("cache_causal_bottom", "as many queries as new tokens, causal from the bottom right")(
        TWO_NEW, **BOTTOM_CAUSAL
    )
    yield case("cache_more_queries", "three queries, two new tokens, causal from the bottom right")(
        Latents(queries=3, keys=2, past=2), **BOTTOM_CAUSAL
    )
    yield case("cache_longer_than_new", "one past token and three new ones, causal")(
        Latents(queries=3, keys=3, past=1), **TOP_CAUSAL
    )
    yield case("cache_mask", "a Boolean mask over past and new tokens")(TWO_NEW, mask=booleans(2, 1, 2, 5))
    yield case("cache_float_mask", "a float mask over past and new tokens, for each head")(
        TWO_NEW, mask=floats(2, 2, 5)
    )
    yield case("cache_scale", "a stated scale beside a past and a magnitude")(
        TWO_NEW, scale=0.25, magnitude=1.5, outputs="scores"
    )
    yield case("cache_large_scores", "scores of thousands, of which one past key takes all")(DECODE, scale=1024.0)
    yield case("cache_magnitude", "a magnitude beside a past")(DECODE, magnitude=1.25, outputs="scores")
    yield case("cache_present_without_past", "without a past, the new tokens are all there is")(
        clauses="past.present", outputs=PRESENT
    )
    name, sizes = "cache_beyond_float16", replace(ONE_QUERY, keys=1, past=1)
    yield case(name, "one query, cached tokens beyond float16")(
        sizes,
        replaced=first_two(name, NAIVE, sizes, BEYOND_FLOAT16),
        dtypes=WITHOUT_FLOAT16,
        outputs="present_latent",
        scale=1 / BEYOND_FLOAT16,
    )
    yield case("cache_other_past_latent", "past_latent is changed alone in a second call")(
        DECODE, changed_argument=ChangedArgument("past_latent", reversed=True)
    )
    yield case("cache_other_past_key_rotary", "past_key_rotary is changed alone in a second call")(
        DECODE, changed_argument=ChangedArgument("past_key_rotary", reversed=True)
    )
    yield case("cache_readonly", "past latents where nobody may write")(
        TWO_NEW, memory_order={"past_latent": "readonly", "past_key_rotary": "readonly"}
    )
    nan = grid("latent/cache_nan/past_latent", (2, 3, 3))
    nan[1, 0, 2] = np.nan
    yield case("cache_nan_attended", "NaN in a past latent that all queries of its entry attend to")(
        TWO_NEW, replaced={"past_latent": nan}
    )
    yield case("cache_nan", "NaN in a past latent that a mask excludes")(
        TWO_NEW, replaced={"past_latent": nan}, mask=np.array([[False, True, True, True, True]] * 2)
    )

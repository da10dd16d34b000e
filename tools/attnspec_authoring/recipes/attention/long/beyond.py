"""From 32,768 to 131,072 keys: positions beyond 16 bits, and a hundred thousand terms in a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, Sizes
from attnspec_authoring.recipes.attention.long.making import long_case

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def beyond() -> tuple[AuthoredCase, ...]:
    """Return the cases that take their time, or their memory; the first one takes a processor minutes."""
    return (
        long_case("beyond/causal_131072", "131,072 tokens, causal")(
            Sizes(1, 1, 1, 131072, 131072, 64), rises_by=16.0, spread=0.25, features=8, at_random=16, is_causal=True
        ),
        long_case("beyond/decode_131072", "One query of four heads over one, and 131,072 keys of 128 features")(
            Sizes(1, 4, 1, 1, 131072, 128), features=12
        ),
        long_case(
            "beyond/lengths_decode_40000",
            "Two entries of one query: 40,000 and 32,769 keys count, more than 16 bits with a sign hold",
        )(Sizes(2, 2, 1, 1, 40000, 64), features=24, key_lengths=[40000, 32769]),
        long_case(
            "beyond/window_70000",
            "300 queries at the last of 70,000 keys, causal, each of which attends to the 1,024 up to itself",
        )(Sizes(1, 1, 1, 300, 70000, 64), features=8, is_causal=True, causal_alignment=BOTTOM_RIGHT, window=[1023, 0]),
        long_case(
            "beyond/bottom_right_66000",
            "1,200 queries from the 64,800th of 66,000 keys on, causal: positions on both sides of 65,536",
        )(Sizes(1, 1, 1, 1200, 66000, 32), rises_by=12.0, features=8, is_causal=True, causal_alignment=BOTTOM_RIGHT),
    )

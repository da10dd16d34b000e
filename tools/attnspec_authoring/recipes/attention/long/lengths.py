"""From 1,000 to 131,072 keys; beyond 32,768 positions leave 16 bits, and a sum has a hundred thousand terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes
from attnspec_authoring.recipes.attention.long.making import long_case

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

SLOPES = [2.0**-11, 2.0**-10]
"""So flat that keys thousands of positions away still count."""


def thousands() -> tuple[AuthoredCase, ...]:
    """Return the cases that every implementation can be asked for."""
    return (*_causal(), *_of_other_extents(), *_windows(), *_biased(), *_served())


def _causal() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/causal_1000", "1,000 tokens, causal: no multiple of any tile")(
            Sizes(1, 2, 1, 1000, 1000, 32), rises_by=4.0, is_causal=True
        ),
        long_case("thousands/causal_2048", "2,048 tokens, causal: a multiple of every tile")(
            Sizes(1, 2, 2, 2048, 2048, 64), is_causal=True
        ),
        long_case("thousands/causal_4096_width_128", "4,096 tokens of 128 features, causal")(
            Sizes(1, 1, 1, 4096, 4096, 128), features=8, is_causal=True
        ),
        long_case("thousands/causal_7177", "7,177 tokens, causal: nine more than a multiple of 128 and of 1,024")(
            Sizes(1, 1, 1, 7177, 7177, 40), features=8, is_causal=True
        ),
        long_case("thousands/causal_8192", "8,192 tokens, causal, two heads over one")(
            Sizes(1, 2, 1, 8192, 8192, 64), rises_by=12.0, is_causal=True
        ),
        long_case("thousands/causal_steep_6200", "6,200 tokens, causal, scores that rise by thirty")(
            Sizes(1, 1, 1, 6200, 6200, 16), rises_by=30.0, features=8, is_causal=True
        ),
    )


def _of_other_extents() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/every_key_6200", "900 queries that may attend to all of 6,200 keys")(
            Sizes(1, 2, 2, 900, 6200, 64, 48)
        ),
        long_case("thousands/bottom_right_5001", "1,500 queries at the last of 5,001 keys, causal")(
            Sizes(1, 2, 1, 1500, 5001, 32), is_causal=True, causal_alignment=BOTTOM_RIGHT
        ),
        long_case("thousands/top_left_4100", "2,500 queries at the first of 4,100 keys, causal")(
            Sizes(1, 1, 1, 2500, 4100, 64), features=8, is_causal=True, causal_alignment=TOP_LEFT
        ),
        long_case("thousands/grouped_3100", "3,100 tokens, causal, eight heads over two")(
            Sizes(1, 8, 2, 3100, 3100, 16), features=3, at_random=10, is_causal=True
        ),
    )


def _windows() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/window_256_of_8192", "8,192 tokens, each of which attends to the 256 up to itself")(
            Sizes(1, 1, 1, 8192, 8192, 64), features=8, is_causal=True, window=[255, 0]
        ),
        long_case(
            "thousands/window_of_both_sides_5000", "5,000 tokens, each of which attends to 700 before it and 300 behind"
        )(Sizes(1, 2, 1, 5000, 5000, 32), window=[700, 300]),
        long_case(
            "thousands/window_4096_of_9000",
            "2,100 queries at the last of 9,000 keys, each of which attends to the 4,096 up to itself",
        )(Sizes(1, 1, 1, 2100, 9000, 64), features=8, is_causal=True, causal_alignment=BOTTOM_RIGHT, window=[4095, 0]),
    )


def _biased() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/sinks_window_4200", "4,200 tokens, a window of 128, sinks")(
            Sizes(1, 2, 1, 4200, 4200, 64), is_causal=True, window=[127, 0], sinks=[1.5, -0.5]
        ),
        long_case("thousands/alibi_4200", "4,200 tokens, causal, biased by distances that float16 does not hold")(
            Sizes(1, 2, 2, 4200, 4200, 32), rises_by=0.5, is_causal=True, alibi_slopes=SLOPES
        ),
        long_case(
            "thousands/alibi_both_sides_9001",
            "700 queries in the middle of 9,001 keys, biased by distance to either side",
        )(Sizes(1, 2, 1, 700, 9001, 32), rises_by=0.5, alibi_slopes=SLOPES, causal_alignment=BOTTOM_RIGHT),
        long_case("thousands/softcap_3000", "3,000 tokens, causal, a softcap of 4")(
            Sizes(1, 1, 1, 3000, 3000, 64), features=8, spread=1.0, is_causal=True, softcap=4.0
        ),
        long_case("thousands/scale_5000", "5,000 tokens, causal, a scale of 0.3")(
            Sizes(1, 1, 1, 5000, 5000, 24), features=8, is_causal=True, scale=0.3
        ),
    )


def _served() -> tuple[AuthoredCase, ...]:
    return (
        long_case("thousands/decode_16384", "One query of eight heads over two, and 16,384 keys")(
            Sizes(1, 8, 2, 1, 16384, 64), features=24
        ),
        long_case("thousands/decode_four_9000", "Four queries at the last of 9,000 keys, causal")(
            Sizes(2, 4, 1, 4, 9000, 64), features=16, is_causal=True, causal_alignment=BOTTOM_RIGHT
        ),
        long_case("thousands/past_5000", "1,030 new tokens after a past of 3,970, causal")(
            Sizes(1, 2, 1, 1030, 1030, 64, past=3970), is_causal=True
        ),
        long_case("thousands/lengths_5000", "Three entries of 600 queries: 5,000, 4,097 and 1,023 keys count, causal")(
            Sizes(3, 1, 1, 600, 5000, 32),
            features=8,
            at_random=12,
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
            key_lengths=[5000, 4097, 1023],
            query_lengths=[600, 513, 600],
        ),
    )


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

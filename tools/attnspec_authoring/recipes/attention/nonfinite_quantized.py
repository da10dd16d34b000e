"""NaN and infinities in float8, which has them in some formats: times a scale they are what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized.numbers import E4M3, E5M2, KEY_SCALES, VALUE_SCALES, quantized
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

PROFILE = "nonfinite"
NUMBERS = "sdpa.quantized.numbers"


def quantized_cases() -> tuple[AuthoredCase, ...]:
    """Return NaN and infinities in formats of few bits, excluded and attended."""
    sizes, columns = Sizes(3, 2, 2, 1, 4, 2), np.ones((3, 2, 4, 2))
    made: list[AuthoredCase] = []
    for short, dtype, strange in (("e4m3", E4M3, np.nan), ("e5m2", E5M2, np.inf)):
        name = f"quantized_{short}_beyond_lengths"
        given: dict[str, Any] = {}
        for tensor in ("key", "value"):
            numbers = 16.0 * grid(f"nonfinite/{name}/{tensor}", columns.shape)
            numbers[0, :, 3:], numbers[1, :, 2:] = strange, np.nan
            given[tensor] = numbers
        made.append(
            quantized(name, f"NaN and infinities of {dtype} beyond the lengths")(
                sizes,
                profile=PROFILE,
                key=dtype,
                value=dtype,
                key_scale=KEY_SCALES,
                value_scale=VALUE_SCALES,
                given=given,
                key_lengths=[3, 2, 4],
            )
        )
    hidden = 16.0 * grid("nonfinite/quantized_behind_a_mask/value", (1, 2, 4, 2))
    hidden[0, :, 1] = np.nan
    attended = 16.0 * grid("nonfinite/quantized_attended/value", (1, 2, 4, 2))
    attended[0, :, 2, 0] = np.nan
    one = Sizes(1, 2, 2, 3, 4, 2)
    reached = np.tri(3, 4, 0, dtype=np.bool_)
    return (
        *made,
        quantized("quantized_behind_a_mask", "NaN of float8_e4m3fn in keys and values that a mask excludes")(
            one,
            profile=PROFILE,
            given={"key": np.where(np.arange(4)[:, np.newaxis] == 1, np.nan, hidden), "value": hidden},
            mask=np.broadcast_to(np.arange(4) != 1, (3, 4)).copy(),
        ),
        quantized(
            "quantized_not_a_number_attended", "NaN of float8_e4m3fn in a value that one query of three may attend to"
        )(one, profile=PROFILE, clauses=(NUMBERS,), given={"value": attended}, mask=reached),
        quantized(
            "quantized_key_that_is_no_number", "NaN of float8_e4m3fn in a key that two queries of three may attend to"
        )(
            one,
            profile=PROFILE,
            clauses=(NUMBERS,),
            outputs=("output", "logsumexp"),
            given={"key": attended[..., ::-1, :]},
            mask=reached,
        ),
        quantized(
            "quantized_infinity_attended", "An infinity of float8_e5m2 in a value that one query of three may attend to"
        )(
            one,
            profile=PROFILE,
            clauses=(NUMBERS,),
            key=E5M2,
            value=E5M2,
            given={"value": np.where(np.isnan(attended), np.inf, attended)},
            mask=reached,
        ),
    )

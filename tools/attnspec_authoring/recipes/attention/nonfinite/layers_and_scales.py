"""NaN and infinity in tokens of several heads, and in float8: times a scale they are what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN, Sizes
from attnspec_authoring.recipes.attention.layout.projections import multi_head
from attnspec_authoring.recipes.attention.quantized.formats import E4M3, E5M2, KEY_SCALES, VALUE_SCALES, quantized
from attnspec_authoring.recipes.authoring import AuthoredCase, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def layer_cases() -> Iterator[AuthoredCase]:
    """Put NaN and infinity into tokens that some queries, or none, may attend to."""
    case = table(multi_head, profile="nonfinite")
    third, lower = np.arange(5) == 2, np.tri(5, dtype=np.bool_)
    ways: Mapping[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "boolean_mask": {"mask": lower},
        "float_mask": {"mask": np.where(lower, 0.25, HIDDEN)},
        "mask_of_heads": {"mask": np.stack([lower, ~third & lower, lower | lower.T])},
    }
    for way, arguments in ways.items():
        for tensor in ("key", "value"):
            name = f"nan_{tensor}_{way}"
            tokens = grid(f"nonfinite/multi_head_{name}/{tensor}", (1, 5, 6))
            yield case(
                name,
                f"NaN in one token of the {tensor}s, to which some queries may not attend: {way.replace('_', ' ')}",
            )(
                (1, 5, 5),
                replaced={tensor: np.where(third[:, np.newaxis], np.nan, tokens)},
                conventions=("masked_nonfinite", "nonfinite_input"),
                **arguments,
            )
    for tensor in ("query", "key"):
        name = f"nan_{tensor}_of_one_key"
        length = 3 if tensor == "query" else 1
        tokens = grid(f"nonfinite/multi_head_{name}/{tensor}", (2, length, 6))
        tokens[1, 0, 2] = np.nan
        yield case(name, f"NaN in a {tensor} beside a single key, whose weight is NaN and not 1")(
            (2, 3, 1), replaced={tensor: tokens}, conventions=("nonfinite_input",), outputs=("output", "weights")
        )
    for word, number in (("nan", np.nan), ("infinity", np.inf)):
        name = f"hidden_{word}"
        both = {
            tensor: np.where(third[:, np.newaxis], number, grid(f"nonfinite/multi_head_{name}/{tensor}", (2, 5, 6)))
            for tensor in ("key", "value")
        }
        yield case(name, f"{word} in a token that no query may attend to")(
            (2, 4, 5),
            mask=np.broadcast_to(~third, (1, 5)).copy().reshape(1, 1, 1, 5),
            replaced=both,
            conventions=("masked_nonfinite", "nonfinite_input"),
            outputs=("output", "weights"),
        )


PROFILE = "nonfinite"
NUMBERS = "sdpa.quantized.numbers"


def quantized_cases() -> Iterator[AuthoredCase]:
    """Return NaN and infinities in formats of few bits, excluded and attended."""
    case = table(quantized, profile=PROFILE, clauses=(NUMBERS,))
    sizes, columns = Sizes(3, 2, 2, 1, 4, 2), np.ones((3, 2, 4, 2))
    for short, dtype, strange in (("e4m3", E4M3, np.nan), ("e5m2", E5M2, np.inf)):
        name = f"quantized_{short}_beyond_lengths"
        given: dict[str, Any] = {}
        for tensor in ("key", "value"):
            numbers = 16.0 * grid(f"nonfinite/{name}/{tensor}", columns.shape)
            numbers[0, :, 3:], numbers[1, :, 2:] = strange, np.nan
            given[tensor] = numbers
        yield quantized(name, f"NaN and infinities of {dtype} beyond the lengths")(
            sizes,
            profile=PROFILE,
            key=dtype,
            value=dtype,
            key_scale=KEY_SCALES,
            value_scale=VALUE_SCALES,
            given=given,
            key_lengths=[3, 2, 4],
        )
    hidden = 16.0 * grid("nonfinite/quantized_behind_a_mask/value", (1, 2, 4, 2))
    hidden[0, :, 1] = np.nan
    attended = 16.0 * grid("nonfinite/quantized_attended/value", (1, 2, 4, 2))
    attended[0, :, 2, 0] = np.nan
    one = Sizes(1, 2, 2, 3, 4, 2)
    reached = np.tri(3, 4, 0, dtype=np.bool_)
    yield from (
        quantized("quantized_behind_a_mask", "NaN of float8_e4m3fn in keys and values that a mask excludes")(
            one,
            profile=PROFILE,
            given={"key": np.where(np.arange(4)[:, np.newaxis] == 1, np.nan, hidden), "value": hidden},
            mask=np.broadcast_to(np.arange(4) != 1, (3, 4)).copy(),
        ),
        case(
            "quantized_not_a_number_attended", "NaN of float8_e4m3fn in a value that one query of three may attend to"
        )(one, given={"value": attended}, mask=reached),
        case(
            "quantized_key_that_is_no_number", "NaN of float8_e4m3fn in a key that two queries of three may attend to"
        )(one, also="logsumexp", given={"key": attended[..., ::-1, :]}, mask=reached),
        case(
            "quantized_infinity_attended", "An infinity of float8_e5m2 in a value that one query of three may attend to"
        )(one, key=E5M2, value=E5M2, given={"value": np.where(np.isnan(attended), np.inf, attended)}, mask=reached),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of layers and of quantized tensors."""
    return (*layer_cases(), *quantized_cases())

"""NaN and infinity in tokens of several heads: attended by some queries, by all, and by none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import HIDDEN
from attnspec_authoring.recipes.attention.layout.projections import multi_head
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase


def layer_cases() -> tuple[AuthoredCase, ...]:
    """Put NaN and infinity into tokens that some queries, or none, may attend to."""
    third, lower = np.arange(5) == 2, np.tri(5, dtype=np.bool_)
    ways: Mapping[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "boolean_mask": {"mask": lower},
        "float_mask": {"mask": np.where(lower, 0.25, HIDDEN)},
        "mask_of_heads": {"mask": np.stack([lower, ~third & lower, lower | lower.T])},
    }
    made: list[AuthoredCase] = []
    for way, arguments in ways.items():
        for tensor in ("key", "value"):
            name = f"nan_{tensor}_{way}"
            tokens = grid(f"nonfinite/multi_head_{name}/{tensor}", (1, 5, 6))
            made.append(
                multi_head(
                    name,
                    f"NaN in one token of the {tensor}s, to which some queries may not attend: {way.replace('_', ' ')}",
                )(
                    (1, 5, 5),
                    profile="nonfinite",
                    replaced={tensor: np.where(third[:, np.newaxis], np.nan, tokens)},
                    conventions=("masked_nonfinite", "nonfinite_input"),
                    **arguments,
                )
            )
    for tensor in ("query", "key"):
        name = f"nan_{tensor}_of_one_key"
        length = 3 if tensor == "query" else 1
        tokens = grid(f"nonfinite/multi_head_{name}/{tensor}", (2, length, 6))
        tokens[1, 0, 2] = np.nan
        made.append(
            multi_head(name, f"NaN in a {tensor} beside a single key, whose weight is NaN and not 1")(
                (2, 3, 1),
                profile="nonfinite",
                replaced={tensor: tokens},
                conventions=("nonfinite_input",),
                outputs=("output", "weights"),
            )
        )
    for word, number in (("nan", np.nan), ("infinity", np.inf)):
        name = f"hidden_{word}"
        both = {
            tensor: np.where(third[:, np.newaxis], number, grid(f"nonfinite/multi_head_{name}/{tensor}", (2, 5, 6)))
            for tensor in ("key", "value")
        }
        made.append(
            multi_head(name, f"{word} in a token that no query may attend to")(
                (2, 4, 5),
                profile="nonfinite",
                mask=np.broadcast_to(~third, (1, 5)).copy().reshape(1, 1, 1, 5),
                replaced=both,
                conventions=("masked_nonfinite", "nonfinite_input"),
                outputs=("output", "weights"),
            )
        )
    return tuple(made)

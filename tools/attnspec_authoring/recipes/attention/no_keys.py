"""No keys at all, and values of another width than the queries, beside every feature: the result is as wide as values.

Nothing was computed that could tell the shape of the result, so that it has to be found from the arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import TOP_LEFT, Sizes, attention

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

WIDER = Sizes(2, 1, 1, 3, 0, 2, 3)
NARROWER = Sizes(2, 1, 1, 3, 0, 2, 1)
GROUPED = Sizes(1, 2, 1, 3, 0, 1, 2)


def no_keys_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases without keys, each with one feature more."""
    past: dict[str, Any] = {name: np.zeros((2, 1, 0, width)) for name, width in (("past_key", 2), ("past_value", 1))}
    features: tuple[tuple[str, str, Sizes, dict[str, Any]], ...] = (
        ("wider", "values of three features", WIDER, {}),
        ("narrower", "values of one feature", NARROWER, {}),
        ("grouped", "grouped heads and values of two features", GROUPED, {}),
        ("key_lengths", "lengths that are all 0", WIDER, {"key_lengths": [0, 0]}),
        ("query_lengths", "lengths of queries", WIDER, {"query_lengths": [3, 1]}),
        ("causal", "causality", NARROWER, {"is_causal": True}),
        ("window", "a window", NARROWER, {"window": [1, 1]}),
        ("alibi", "distances", NARROWER, {"alibi_slopes": [0.5], "causal_alignment": TOP_LEFT}),
        ("softcap", "a softcap", NARROWER, {"softcap": 2.0}),
        ("scale", "a stated scale", NARROWER, {"scale": -1.0}),
        ("float_mask", "a float mask", NARROWER, {"mask": np.zeros((3, 0))}),
        ("past_of_none", "a past of none", NARROWER, past),
    )
    return tuple(
        attention(f"masking/no_keys_{name}", f"No key at all, and {what}")(
            sizes, clauses=("sdpa.no_keys",), **arguments
        )
        for name, what, sizes, arguments in features
    )

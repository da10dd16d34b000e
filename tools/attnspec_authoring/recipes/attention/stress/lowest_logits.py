"""Logits at the most negative number of float16, beside keys that are excluded.

Who excludes by that number, in place of minus infinity, excludes nothing then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import TOP_LEFT, attention
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

LOWEST = -65504.0
"""The most negative number of float16."""


def cases() -> tuple[AuthoredCase, ...]:
    """Exclude keys by each feature that can."""
    ways: Mapping[str, dict[str, Any]] = {
        "boolean_mask": {"mask": np.array([True, False, True, False, True])[np.newaxis]},
        "float_mask": {"mask": np.array([0.0, -np.inf, 0.0, -np.inf, 0.0])[np.newaxis]},
        "causal": {"is_causal": True, "causal_alignment": TOP_LEFT},
        "window": {"window": [1, 0], "causal_alignment": TOP_LEFT},
        "key_lengths": {"key_lengths": [2]},
    }
    return tuple(
        attention(
            f"stress/lowest_logits_of_float16_{way}",
            f"Every score is {LOWEST:g}, and some keys are excluded: {way.replace('_', ' ')}",
        )(
            shared(5),
            clauses=("sdpa.softmax.stability",),
            dtypes=("float64", "float32", "float16"),
            query=asked(-1.0, -1.0, -1.0),
            key=row(np.full(5, -LOWEST)),
            value=row(np.array([1.0, -64.0, 2.0, 96.0, 5.0])),
            scale=1.0,
            **arguments,
        )
        for way, arguments in ways.items()
    )

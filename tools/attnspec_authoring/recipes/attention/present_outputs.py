"""Present keys and values beside every feature: what is stored is stored whole, whoever may attend to it.

Lengths, masks, windows and scales are about what is attended. A cache from which the next call reads must not be
cleared, scaled or cut by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, Sizes, attention, coarse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

ALONE = Sizes(2, 1, 1, 3, 4, 1)
AFTER_A_PAST = Sizes(2, 1, 1, 3, 3, 1, past=2)
EMPTY = Sizes(2, 1, 1, 3, 0, 1)
PRESENT = ("output", "present_key", "present_value")


def features(sizes: Sizes) -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Return every feature by name, with what it is called and its arguments; hardly a key is seen by every query."""
    columns = np.arange(sizes.columns)
    ordinary = columns % 3 != 1
    # Behind a past, with as many new keys as queries, both alignments are one.
    placed = {} if sizes.past else {"causal_alignment": BOTTOM_RIGHT}
    return {
        "boolean_mask": ("a Boolean mask", {"mask": ordinary[np.newaxis]}),
        "float_mask": ("a float mask", {"mask": np.where(ordinary, 0.5, HIDDEN)[np.newaxis]}),
        "all_masked": ("a mask that excludes every key", {"mask": np.zeros((1, sizes.columns), np.bool_)}),
        "causal": ("causality", {"is_causal": True, **placed}),
        "window": ("a window", {"window": [0, 1], **placed}),
        "alibi": ("distances", {"alibi_slopes": [0.5], **placed}),
        "sinks": ("sinks", {"sinks": [0.5]}),
        "softcap": ("a softcap", {"softcap": 0.5}),
        "scale": ("a scale of minus two", {"scale": -2.0}),
        "scale_zero": ("the scale zero", {"scale": 0.0}),
    }


def lengths() -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Return lengths, which count only without a past."""
    return {
        "key_lengths": ("lengths of keys", {"key_lengths": [2, 0]}),
        "query_lengths": ("lengths of queries", {"query_lengths": [1, 2]}),
        "both_lengths": (
            "lengths of keys and queries, causal",
            {
                "key_lengths": [3, 1],
                "query_lengths": [2, 1],
                "is_causal": True,
                "causal_alignment": BOTTOM_RIGHT,
            },
        ),
        "key_lengths_sinks": ("lengths of keys, and sinks", {"key_lengths": [1, 3], "sinks": [1.0]}),
        "key_lengths_mask": (
            "lengths of keys, and a mask",
            {"key_lengths": [4, 2], "mask": np.array([[True, False, True, True]])},
        ),
    }


def beside(name: str, title: str, sizes: Sizes, arguments: dict[str, Any]) -> AuthoredCase:
    """Make a case of present outputs."""
    case_id = f"cache/present_{name}"
    drawn = coarse(case_id, sizes)
    return attention(case_id, f"Present keys and values, {title}", sizes, outputs=PRESENT, **(drawn | arguments))


def present_output_cases() -> tuple[AuthoredCase, ...]:
    """Return present outputs without a past and behind one, each beside one feature more."""
    alone = {**features(ALONE), **lengths()}
    return (
        *(beside(f"beside_{name}", what, ALONE, arguments) for name, (what, arguments) in alone.items()),
        *(
            beside(f"after_a_past_beside_{name}", f"a past and {what}", AFTER_A_PAST, arguments)
            for name, (what, arguments) in features(AFTER_A_PAST).items()
        ),
        beside("without_keys", "of which there are none", EMPTY, {}),
        beside(
            "after_a_past_of_none",
            "a past of none",
            ALONE,
            {name: np.zeros((2, 1, 0, 1)) for name in ("past_key", "past_value")},
        ),
        beside("without_new_keys", "a past and no new keys", Sizes(2, 1, 1, 3, 0, 1, past=3), {}),
        beside("one_query", "one query behind a past, grouped", Sizes(2, 3, 1, 1, 1, 1, past=2), {}),
    )

"""Present keys and values beside every feature: what is stored is stored whole, whoever may attend to it.

Lengths, masks, windows and scales are about what is attended. A cache from which the next call reads must not be
cleared, scaled or cut by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, TOP_LEFT, Sizes, attention, coarse
from attnspec_authoring.recipes.authoring import headed
from attnspec_authoring.recipes.generator import decimals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

ALONE = Sizes(2, 1, 1, 3, 4, 1)
AFTER_A_PAST = Sizes(2, 1, 1, 3, 3, 1, past=2)
EMPTY = Sizes(2, 1, 1, 3, 0, 1)
PRESENT = ("output", "present_key", "present_value")


def of_all_digits() -> tuple[AuthoredCase, ...]:
    """Return numbers that use every digit of float64: what is stored loses none of them."""
    made: list[AuthoredCase] = []
    for name, what, sizes in (
        ("alone", "no past", Sizes(1, 2, 2, 3, 4, 2)),
        ("after_a_past", "a past", Sizes(1, 2, 2, 3, 4, 2, past=3)),
        ("of_one_token", "a past, and one new token", Sizes(3, 2, 1, 1, 1, 2, past=4)),
    ):
        case_id = f"cache/present_of_all_digits_{name}"
        drawn: dict[str, Any] = {
            tensor: decimals(f"{case_id}/{tensor}", shape) for tensor, shape in sizes.shapes().items()
        }
        made.append(
            attention(case_id, f"Keys and values of all digits, stored whole: {what}")(
                sizes, outputs=PRESENT, dtypes=("float64",), **drawn
            )
        )
    return tuple(made)


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
            {"key_lengths": [3, 1], "query_lengths": [2, 1], "is_causal": True, "causal_alignment": BOTTOM_RIGHT},
        ),
        "key_lengths_sinks": ("lengths of keys, and sinks", {"key_lengths": [1, 3], "sinks": [1.0]}),
        "key_lengths_mask": (
            "lengths of keys, and a mask",
            {"key_lengths": [4, 2], "mask": np.array([[True, False, True, True]])},
        ),
    }


@headed
def beside(name: str, title: str, sizes: Sizes, arguments: dict[str, Any]) -> AuthoredCase:
    """Make a case of present outputs."""
    case_id = f"cache/present_{name}"
    drawn = coarse(case_id, sizes)
    return attention(case_id, f"Present keys and values, {title}")(sizes, outputs=PRESENT, **(drawn | arguments))


def window_cases() -> tuple[AuthoredCase, ...]:
    """Let windows reach a part of the keys alone: those that no later query can reach are stored, too."""
    two: tuple[str, dict[str, Any]] = ("causality and a window of two keys", {"is_causal": True, "window": [1, 0]})
    all_but_one: tuple[str, dict[str, Any]] = (
        "causality and a window of all keys but one",
        {"is_causal": True, "window": [3, None]},
    )
    forward: tuple[str, dict[str, Any]] = ("a window that is open to the right", {"window": [1, None]})
    backward: tuple[str, dict[str, Any]] = ("a window that is open to the left", {"window": [None, 0]})
    alone, behind = Sizes(1, 2, 1, 3, 5, 1), Sizes(1, 2, 1, 4, 3, 1, past=2)
    placed = (
        ("beside_a_window_causal", alone, two, TOP_LEFT),
        ("beside_a_window_of_all_but_one", alone, all_but_one, BOTTOM_RIGHT),
        ("beside_a_window_forward", alone, forward, BOTTOM_RIGHT),
        ("beside_a_window_backward", alone, backward, TOP_LEFT),
        ("after_a_past_beside_a_window_causal", behind, two, TOP_LEFT),
        ("after_a_past_beside_a_window_causal", behind, two, BOTTOM_RIGHT),
        ("after_a_past_beside_a_window_of_all_but_one", behind, all_but_one, BOTTOM_RIGHT),
        ("after_a_past_beside_a_window_forward", behind, forward, TOP_LEFT),
        ("after_a_past_beside_a_window_backward", behind, backward, TOP_LEFT),
    )
    return (
        *(
            beside(
                f"{name}_{alignment}", f"{'a past and ' if sizes.past else ''}{what}, {alignment.replace('_', '-')}"
            )(sizes, {**arguments, "causal_alignment": alignment})
            for name, sizes, (what, arguments), alignment in placed
        ),
        beside("beside_a_window_square", "as many queries, causality and a window")(
            Sizes(1, 2, 1, 4, 4, 1), {"is_causal": True, "window": [2, 0]}
        ),
        beside("one_query_beside_a_window", "one query behind a past that a window cuts")(
            Sizes(2, 3, 1, 1, 1, 1, past=5), {"is_causal": True, "window": [2, 0]}
        ),
        beside("beside_a_window_and_key_lengths", "lengths of keys and a window that counts back from them")(
            Sizes(2, 1, 1, 3, 5, 1),
            {"is_causal": True, "window": [1, 0], "key_lengths": [5, 3], "causal_alignment": BOTTOM_RIGHT},
        ),
    )


def present_output_cases() -> tuple[AuthoredCase, ...]:
    """Return present outputs without a past and behind one, each beside one feature more."""
    alone = {**features(ALONE), **lengths()}
    return (
        *(beside(f"beside_{name}", what)(ALONE, arguments) for name, (what, arguments) in alone.items()),
        *(
            beside(f"after_a_past_beside_{name}", f"a past and {what}")(AFTER_A_PAST, arguments)
            for name, (what, arguments) in features(AFTER_A_PAST).items()
        ),
        beside("without_keys", "of which there are none")(EMPTY, {}),
        beside("after_a_past_of_none", "a past of none")(
            ALONE, {name: np.zeros((2, 1, 0, 1)) for name in ("past_key", "past_value")}
        ),
        beside("without_new_keys", "a past and no new keys")(Sizes(2, 1, 1, 3, 0, 1, past=3), {}),
        beside("one_query", "one query behind a past, grouped")(Sizes(2, 3, 1, 1, 1, 1, past=2), {}),
        *window_cases(),
        *of_all_digits(),
    )

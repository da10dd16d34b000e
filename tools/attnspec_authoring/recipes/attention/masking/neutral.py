"""What changes nothing beside what does: a shortcut for the one must not forget the other.

A mask that leaves every key, lengths of all, a window as wide as the sequence and slopes of 0 are what code looks for
to take a faster path. Each stands beside causality, lengths, a window and all else that the path may lack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attendance import depends_on_alignment
from attnspec_authoring.recipes.attention.attention import BOTTOM_CAUSAL, BOTTOM_RIGHT, TOP, TOP_LEFT, Sizes, attention

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

SIZES = Sizes(2, 6, 2, 4, 5, 3, 2)
WHOLE = SIZES.mask

OF_INPUTS = ("mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes")

BESIDE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "causality": ("causality", {"is_causal": True, "causal_alignment": TOP_LEFT}),
    "late_causality": ("causality from the end", {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}),
    "window": ("a window", {"window": [1, 1], "causal_alignment": TOP_LEFT}),
    "key_lengths": ("lengths of keys", {"key_lengths": [3, 5]}),
    "slopes": ("slopes", {"alibi_slopes": [0.5, 0.25, 1.0, 0.125, 0.75, 0.0625], "causal_alignment": BOTTOM_RIGHT}),
    "sinks": ("sinks", {"sinks": [0.5, -1.0, 2.0, 0.25, 0.0, -0.5]}),
    "softcap": ("a softcap and a scale", {"softcap": 2.0, "scale": 0.75}),
}
"""What a shortcut may forget."""

NEUTRAL: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "boolean_mask": ("A Boolean mask that leaves every key", {"mask": np.ones(WHOLE, np.bool_)}),
    "boolean_rows": ("Boolean rows that leave every key", {"mask": np.ones((4, 5), np.bool_)}),
    "float_mask": ("A float mask of zeros", {"mask": np.zeros(WHOLE)}),
    "slopes": ("Slopes of 0", {"alibi_slopes": np.zeros(6)}),
    "lengths": ("Lengths that count all", {"key_lengths": [5, 5], "query_lengths": [4, 4]}),
    "window": ("A window as wide as the keys", {"window": [5, 5]}),
    "equal_sinks": ("One sink for all heads", {"sinks": np.full(6, 0.75)}),
}
"""What changes nothing, or the same everywhere."""


def beside(neutral: str, other: str) -> dict[str, Any] | None:
    """Return the arguments of one beside the other; None where both are the same argument."""
    changing_nothing, forgotten = NEUTRAL[neutral][1], BESIDE[other][1]
    if not changing_nothing.keys().isdisjoint(forgotten):
        return None
    arguments = {"causal_alignment": TOP_LEFT, **changing_nothing, **forgotten}
    alignment = arguments.pop("causal_alignment")
    inputs = SIZES.drawn("neutral") | {name: array for name, array in arguments.items() if name in OF_INPUTS}
    attributes = {name: value for name, value in arguments.items() if name not in OF_INPUTS}
    # Slopes of 0 and a window as wide as the sequence position nobody.
    shows = depends_on_alignment({name: np.asarray(array) for name, array in inputs.items()}, attributes)
    return {**arguments, **({"causal_alignment": alignment} if shows else {})}


def pairs(neutral: tuple[str, ...] = tuple(NEUTRAL)) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give name, title and arguments of every neutral argument beside every other."""
    for one in neutral:
        for other in BESIDE:
            arguments = beside(one, other)
            if arguments is not None:
                yield f"{one}_beside_{other}", f"{NEUTRAL[one][0]}, beside {BESIDE[other][0]}", arguments


def nearly() -> Iterator[AuthoredCase]:
    """Give masks that are nearly something else: nothing hidden, causality, a length; all but for a key in the midst.

    Code that looks at corners, borders, the first row or a few tiles of a mask takes them for that.
    """
    for queries, keys in ((34, 35), (66, 70)):
        sizes = Sizes(1, 2, 1, queries, keys, 1)
        causal = np.tri(queries, keys, dtype=np.bool_)
        short = np.broadcast_to(np.arange(keys) < keys - 3, causal.shape)
        masks = {"nothing": np.ones_like(causal), "causality": causal, "a_length": short}
        for name, mask in masks.items():
            hole = mask.copy()
            hole[queries // 2 - 5, keys // 4 + 1] = False
            yield attention(
                f"masking/nearly_{name}_{queries}_by_{keys}",
                f"A Boolean mask that is {name.replace('_', ' ')} but for one key of one query, {queries} by {keys}",
            )(sizes, mask=hole)
            if name == "nothing":
                yield attention(
                    f"masking/nearly_{name}_{queries}_by_{keys}_float",
                    f"A float mask of zeros that hides one key of one query, {queries} by {keys}",
                )(sizes, mask=np.where(hole, 0.0, -np.inf))


def cases() -> tuple[AuthoredCase, ...]:
    """Return every neutral argument beside every other, and masks of numbers that look like truth values."""
    truth = np.array([[0.0, 1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0, 1.0], [0.0] * 5, [1.0] * 5])
    return (
        *(attention(f"masking/neutral_{name}", title)(SIZES, **arguments) for name, title, arguments in pairs()),
        *(
            attention(
                f"masking/float_mask_of_{name}", f"A float mask that holds {what}, which are added as any other number"
            )(SIZES, mask=mask)
            for name, what, mask in (
                ("zeros_and_ones", "nothing but zeros and ones", truth),
                ("ones", "ones alone", np.ones((4, 5))),
                ("zeros", "zeros alone", np.zeros((4, 5))),
                ("one_number", "one number alone", np.full(WHOLE, -0.75)),
            )
        ),
        *nearly(),
        attention(
            "masking/neutral_lengths_one_for_all", "Lengths that are the same for all entries, and not all there is"
        )(SIZES, key_lengths=[3, 3], query_lengths=[2, 2], **BOTTOM_CAUSAL),
        attention("masking/neutral_everything", "All that changes nothing at once")(
            SIZES,
            mask=np.ones(WHOLE, np.bool_),
            alibi_slopes=np.zeros(6),
            key_lengths=[5, 5],
            query_lengths=[4, 4],
            window=[5, 5],
            **TOP,
        ),
    )

"""One argument changed that places queries among keys, or that leaves keys out: a part of the answer may be kept.

Who keeps a mask, a bias or a plan between calls, under a key that forgets what moves queries, gives an output that
changes and is wrong. What the changed call owes says the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, attention, float_mask
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

BATCH = Sizes(3, 2, 2, 4, 5)
KEYS = {"key_lengths": [5, 2, 4]}
QUERIES = {"query_lengths": [4, 1, 3]}
SLOPES: dict[str, Any] = {"alibi_slopes": [2.0, 0.125]}
WINDOW: dict[str, Any] = {"window": [1, 1]}
CAUSAL: dict[str, Any] = {"is_causal": True}
LAST: dict[str, Any] = {"causal_alignment": BOTTOM_RIGHT}

CHANGES = (
    *(
        row(f"{lengths}_{name}", f"{lengths.replace('_', ' ')} beside {what}")({**given, **beside, **LAST}, turned)
        for lengths, given in (("key_lengths", KEYS), ("query_lengths", QUERIES))
        for turned in (ChangedArgument(lengths, reversed=True),)
        for name, what, beside in (
            ("slopes", "slopes", SLOPES),
            ("window", "a window", WINDOW),
            ("causality", "causality", CAUSAL),
        )
        # Causality alone leaves later queries nearly all keys, so that lengths of queries hardly tell.
        if (lengths, name) != ("query_lengths", "causality")
    ),
    *(
        row(f"alignment_{name}", f"the alignment beside {what}")(
            {**beside, "causal_alignment": TOP_LEFT}, ChangedArgument("causal_alignment", BOTTOM_RIGHT)
        )
        for name, what, beside in (("slopes", "slopes", SLOPES), ("window", "a window", WINDOW))
    ),
    row("causality_with_slopes", "causality beside slopes")(
        {**CAUSAL, **SLOPES, **LAST}, ChangedArgument("is_causal", False)
    ),
    row("window_with_slopes", "a window beside slopes")(
        {**WINDOW, **SLOPES, **LAST}, ChangedArgument("window", [3, 0])
    ),
    row("mask_with_causality", "a float mask beside causality")(
        {"mask": float_mask("memory/changed", (4, 5)), **CAUSAL, **LAST}, ChangedArgument("mask", reversed=True)
    ),
)
"""Names, words, what is stated and what is changed, of attention and its backward pass alike."""


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of attention."""
    return tuple(
        attention(f"memory/changed_{name}", f"The same again, with another choice of {what}")(
            BATCH, clauses=("sdpa.repeatable",), drawn_as="memory/changed", changed_argument=changed, **arguments
        )
        for name, what, arguments, changed in CHANGES
    )

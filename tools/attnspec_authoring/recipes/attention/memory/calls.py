"""Inputs that are one array, and arguments of which one changes from call to call.

Code that takes inputs that are the same object for self-attention, or that scales one of them itself, goes wrong here
and nowhere else.

Who keeps a mask, a bias or a plan between calls, under a key that forgets what moves queries, gives an output that
changes and is wrong. What is expected of the changed call says the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, attention, float_mask
from attnspec_authoring.recipes.attention.layout.projections import BIASES, QUARTER, multi_head, single_head
from attnspec_authoring.recipes.authoring import row
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

MEMORY = "memory"
SIZES = Sizes(1, 2, 2, 4, 4)
AFTER_PAST = Sizes(1, 2, 2, 4, 4, past=4)
OF_ATTENTION: tuple[tuple[str, ...], ...] = (("query", "key"), ("key", "value"), ("query", "value"))
WEIGHTS = ("w_query", "w_key", "w_value", "w_output")


def shared(names: Sequence[str], array: NDArray[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return inputs that hold one array, and the memory order that hands it over as one."""
    return dict.fromkeys(names, array), dict.fromkeys(names, "shared")


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return f"{', '.join(names[:-1])} and {names[-1]}"


def joined(names: Sequence[str]) -> str:
    """Return names as the part of an id."""
    return "_and_".join(names)


def attention_cases() -> tuple[AuthoredCase, ...]:
    """Share arrays among query, key, value, past, sinks, slopes and lengths."""

    def sharing(names: Sequence[str], sizes: Sizes, case_id: str, **more: Any) -> AuthoredCase:
        array = grid(f"{case_id}/shared", (sizes.batch, sizes.heads, sizes.keys, sizes.width))
        inputs, memory_order = shared(names, array)
        clauses = ("sdpa.inputs_unchanged",)
        title = f"One array is given as {listed(names)}"
        return attention(case_id, title)(sizes, clauses=clauses, memory_order=memory_order, **inputs, **more)

    of_past = (
        ("past_key", "past_value"),
        ("key", "past_key"),
        ("value", "past_value"),
        ("query", "past_key"),
        ("key", "value", "past_key", "past_value"),
    )
    three = "memory/one_array_three_times"
    same, memory_order = shared(("query", "key", "value"), Sizes(1, 2, 2, 5, 5).drawn(three)["query"])
    numbers, of_numbers = shared(("sinks", "alibi_slopes"), np.array([0.5, 1.25]))
    lengths, of_lengths = shared(("key_lengths", "query_lengths"), np.array([3, 5, 2]))
    return (
        attention(three, "One array is given as query, key and value")(
            Sizes(1, 2, 2, 5, 5), clauses="inputs_unchanged", memory_order=memory_order, revision=2, **same
        ),
        *(sharing(names, SIZES, f"memory/one_array_as_{joined(names)}") for names in OF_ATTENTION),
        *(
            sharing(names, AFTER_PAST, f"memory/one_array_as_{joined(names)}", outputs=("output", "present_value"))
            for names in of_past
        ),
        attention("memory/one_array_as_sinks_and_slopes", "One array is given as sinks and alibi_slopes")(
            Sizes(1, 2, 1, 4, 4), clauses="inputs_unchanged", memory_order=of_numbers, **numbers
        ),
        attention("memory/one_array_as_lengths", "One array is given as key_lengths and query_lengths")(
            Sizes(3, 1, 1, 5, 5), clauses="inputs_unchanged", memory_order=of_lengths, **lengths
        ),
        attention(
            "memory/one_array_as_query_and_key_scaled",
            "One array is given as query and key, with a negative scale and a cap",
        )(
            SIZES,
            clauses="inputs_unchanged",
            memory_order=dict.fromkeys(("query", "key"), "shared"),
            scale=-0.75,
            softcap=2.0,
            **dict.fromkeys(("query", "key"), SIZES.drawn("memory/one_array_scaled")["query"]),
        ),
    )


def multi_head_cases() -> tuple[AuthoredCase, ...]:
    """Share arrays among tokens, among weight matrices, and among biases."""
    width = 6

    def sharing(names: Sequence[str], shape: tuple[int, ...], **more: Any) -> AuthoredCase:
        name = f"one_array_as_{joined(names)}"
        factor = 1.0 if len(shape) == 3 else QUARTER
        inputs, memory_order = shared(names, grid(f"memory/multi_head_{name}/shared", shape) * factor)
        title = f"one array is given as {listed(names)}"
        lengths = (1, 4, 4)
        return multi_head(name, title)(
            lengths, profile=MEMORY, width=width, replaced=inputs, memory_order=memory_order, **more
        )

    pairs = tuple((one, other) for number, one in enumerate(WEIGHTS) for other in WEIGHTS[number + 1 :])
    of_biases = tuple((one, other) for number, one in enumerate(BIASES) for other in BIASES[number + 1 :])
    every_token = ("query", "key", "value")
    return (
        *(sharing(names, (1, 4, width), outputs=("output", "weights")) for names in OF_ATTENTION),
        sharing(every_token, (1, 4, width), changed_argument=ChangedArgument("w_value", reversed=True)),
        *(sharing(names, (width, width)) for names in (*pairs, WEIGHTS[:3], WEIGHTS)),
        *(sharing(names, (width,), biases=BIASES) for names in (*of_biases, BIASES)),
    )


def single_head_cases() -> tuple[AuthoredCase, ...]:
    """Share arrays among weight matrices, and with the tokens."""

    def sharing(names: Sequence[str], output: int | None) -> AuthoredCase:
        name = f"one_array_as_{joined(names)}"
        inputs, memory_order = shared(names, grid(f"memory/single_head_{name}/shared", (4, 4)) * QUARTER)
        title = f"one array is given as {listed(names)}"
        widths = (4, 4, 4, output)
        return single_head(name, title)(4, widths, profile=MEMORY, replaced=inputs, memory_order=memory_order)

    return (
        *(sharing(names, None) for names in (WEIGHTS[:2], WEIGHTS[1:3], WEIGHTS[::2], WEIGHTS[:3])),
        *(sharing(names, 4) for names in (("w_query", "w_output"), ("w_value", "w_output"), WEIGHTS)),
        *(sharing(names, None) for names in (("x", "w_query"), ("x", "w_key"), ("x", "w_value"))),
        sharing(("x", "w_output"), 4),
    )


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
        # Causality alone leaves later queries nearly all keys, so that lengths of queries hardly matter.
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
    """Return all of them."""
    return (
        *attention_cases(),
        *multi_head_cases(),
        *single_head_cases(),
        # Return the cases of attention.
        *(
            attention(f"memory/changed_{name}", f"The same again, with another choice of {what}")(
                BATCH, clauses="repeatable", drawn_as="memory/changed", changed_argument=changed, **arguments
            )
            for name, what, arguments, changed in CHANGES
        ),
    )

"""New keys and values behind those of the past."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import AuthoredCase, headed
from attnspec_authoring.recipes.caches.caches.cache_cases import LAYOUTS, cache_case, counted

INPUTS = ("past_key", "past_value", "key", "value")


@headed
def append(
    name: str,
    title: str,
    past: int = 3,
    new: int = 2,
    batch: int = 2,
    heads: int = 1,
    widths: tuple[int, int] = (2, 1),
    clauses: tuple[str, ...] = ("order", "own", "shape"),
    shapes: dict[str, tuple[int, ...]] | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of numbers of tokens, batch entries and heads, and of the widths of keys and values."""
    width, value_width = widths
    drawn = {
        "past_key": (batch, heads, past, width),
        "past_value": (batch, heads, past, value_width),
        "key": (batch, heads, new, width),
        "value": (batch, heads, new, value_width),
    }
    return cache_case(
        "append_cache",
        f"append_{name}",
        f"Append: {title}",
        drawn | (shapes or {}),
        tuple(f"append.{clause}" for clause in clauses),
        ("present_key", "present_value"),
        **more,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of appending."""
    kept = ("kept", "order")
    return (
        append("plain", "two tokens behind three")(),
        append("one_token", "one token, as in decoding")(4, 1),
        append("long_update", "more new tokens than past ones")(1, 4),
        append("equal_widths", "two heads, keys and values of one width")(2, 3, 2, 2, (1, 1)),
        append("as_many_heads_as_tokens", "as many heads as tokens")(2, 2, 1, 2, (1, 1)),
        append("wide_values", "values wider than keys")(1, 2, 1, 2, (1, 4)),
        append("no_past", "no past at all")(0, 3, clauses=("empty", "order")),
        append("no_new", "no new token")(3, 0, clauses=("empty", "order")),
        append("nothing", "neither past nor new tokens")(0, 0, clauses=("empty", "shape")),
        append("poisoned_past", "NaN and infinity in the past")(
            clauses=kept, poison={"past_key": [(0, 0, 1, 0), (1, 0, 2, 1)], "past_value": [(0, 0, 0, 0), (1, 0, 1, 0)]}
        ),
        append("poisoned_update", "NaN and infinity in new tokens")(
            clauses=kept, poison={"key": [(0, 0, 1, 0), (1, 0, 0, 1)], "past_key": [(0, 0, 0, 1)]}
        ),
        append("digits", "numbers with many digits")(batch=1, clauses=kept, digits=True),
        append("digits_one_token", "numbers with many digits, one token")(4, 1, 1, clauses=kept, digits=True),
        *(
            append(f"{layout}_{name}", f"{name} {how}")(2, 2, widths=(2, 2), memory_order={name: layout})
            for layout, how in LAYOUTS.items()
            for name in ("past_key", "past_value", "key", "value")
            if (layout, name[-3:]) in (("fortran", "key"), ("gapped", "lue")) or (layout, name) == ("reversed", "key")
        ),
        append("heads_last_gapped", "heads side by side, tokens apart")(
            2, 1, 1, 2, memory_order=dict.fromkeys(INPUTS, "heads_last_gapped")
        ),
        append("prefix", "in longer arrays")(
            1,
            1,
            1,
            2,
            clauses=kept,
            given={"past_key": np.zeros((1, 2, 1, 2))},
            memory_order=dict.fromkeys(INPUTS, "prefix"),
        ),
        append("one_array", "past and new keys and values are one array")(
            2,
            2,
            widths=(2, 2),
            given=dict.fromkeys(INPUTS, counted("key", (2, 1, 2, 2))),
            memory_order=dict.fromkeys(INPUTS, "shared"),
        ),
        append("readonly", "inputs that nobody may write")(memory_order=dict.fromkeys(INPUTS, "readonly")),
        *(
            append(f"other_{name}", f"{name} is changed alone in a second call")(
                2, 2, widths=(2, 2), changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("past_key", "key")
        ),
        append("rejects_other_width", "new keys of another width are refused")(
            clauses=("rejects.shape",), shapes={"key": (2, 1, 2, 3)}, refused=("Keys get wider.", "append_plain")
        ),
        append("rejects_one_entry", "a past of one batch entry for two is refused")(
            clauses=("rejects.shape",),
            shapes={"past_key": (1, 1, 3, 2), "past_value": (1, 1, 3, 1)},
            refused=("The past has one batch entry, the new tokens have two.", "append_plain"),
        ),
        append("rejects_one_head", "new tokens of one head for two are refused")(
            2,
            3,
            2,
            2,
            (1, 1),
            ("rejects.shape",),
            {"key": (2, 1, 3, 1), "value": (2, 1, 3, 1)},
            refused=("The past has two heads, the new tokens have one.", "append_equal_widths"),
        ),
        append("rejects_fewer_past_values", "fewer past values than keys are refused")(
            1,
            1,
            1,
            widths=(1, 1),
            clauses=("rejects.shape",),
            shapes={"past_key": (1, 1, 2, 1)},
            refused=("A key has no value.", "append_plain"),
        ),
        append("rejects_fewer_values", "fewer new values than keys are refused")(
            clauses=("rejects.shape",), shapes={"value": (2, 1, 1, 1)}, refused=("A key has no value.", "append_plain")
        ),
    )

"""New tokens in a window: rings, sinks, long prefills, steps."""

from __future__ import annotations

from typing import Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import AuthoredCase, headed, reported
from attnspec_authoring.recipes.caches.caches.cache_cases import LAYOUTS, cache_case, whole


@headed
def window(
    name: str,
    title: str,
    past: tuple[int, ...] = (1, 6),
    new: int = 1,
    length: int = 4,
    keep: int | None = None,
    clauses: tuple[str, ...] = ("ring", "slot", "untouched"),
    *,
    heads: int = 1,
    widths: tuple[int, int] = (1, 1),
    steps: tuple[int, ...] | None = None,
    shapes: dict[str, tuple[int, ...]] | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of how many tokens came before, how many come, the room, and how many are kept."""
    batch = len(past)
    drawn = {
        "key_cache": (batch, heads, length, widths[0]),
        "value_cache": (batch, heads, length, widths[1]),
        "key": (batch, heads, new, widths[0]),
        "value": (batch, heads, new, widths[1]),
    }
    histories = () if steps is None else ("key_history", "value_history")
    return cache_case(
        "write_window",
        f"window_{name}",
        f"Window: {title}",
        drawn | (shapes or {}),
        tuple(f"window.{clause}" for clause in clauses),
        ("present_key", "present_value", *histories),
        given={"past_lengths": whole(*past), "step_lengths": None if steps is None else whole(*steps)},
        attributes={} if keep is None else {"keep": keep},
        conventions=() if more.get("refused") else ("window_order",),
        **more,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of windows."""
    kept, long, stepped = ("keep", "ring"), ("long", "ring"), ("steps", "ring")
    poison = {"key_cache": [(0, 0, 2, 0), (1, 0, 0, 0), (1, 0, 3, 0)], "value_cache": [(0, 0, 3, 0), (1, 0, 1, 0)]}
    return (
        window("plain", "one token, in a window with room and in a full one")(),
        window("first_token", "the first token of a text")((0,), 1, clauses=("slot", "untouched")),
        window("with_room", "two tokens, with room for both")((1, 2), 2, clauses=("slot", "untouched")),
        window("to_the_end", "a token in the last slot")(
            (3,), 1, clauses=("slot",), source=reported("huggingface/transformers/issues/37574")
        ),
        window("just_full", "the first token for which there is no room")((4,), 1),
        window("over_the_end", "two tokens over the end of the ring")((3, 7), 2),
        window("heads", "two heads, values wider than keys")(
            (2, 9), 2, 3, clauses=("value", "ring"), heads=2, widths=(1, 2)
        ),
        window("lengths", "three entries of other lengths")((0, 5, 10), 1, 3, clauses=("lengths", "ring")),
        window("of_one", "room for one token")((3, 0), 1, 1),
        window("no_token", "no token at all")((2, 8), 0, clauses=("untouched",)),
        window("keep_none", "none kept, stated")((4, 7), 1, 4, 0, ("keep.default", "ring")),
        window("keep_one", "one token kept, in a full window")((4, 8), 1, 4, 1, kept),
        window("keep_all_but_one", "all but one token kept")((4, 6), 1, 4, 3, kept),
        window("keep_with_room", "a token that is to be kept itself, and one behind it")((0, 1), 2, 4, 2, kept),
        window("keep_after_many_turns", "two tokens kept, after many turns")((30, 41), 1, 5, 2, kept),
        window("keep_two_turns_at_once", "tokens for two turns of the ring, one kept")((2, 5), 4, 4, 1, kept),
        window("keep_prefill", "a prefill longer than the window, two tokens kept")((0,), 8, 5, 2, (*kept, "long")),
        window("long_prefill", "a prefill longer than the window")((0,), 6, 4, clauses=long),
        window("long_prefill_twice", "a prefill of more than two windows")((0,), 8, 3, clauses=long),
        window("long_later", "more tokens than there is room for, after others")((3, 6), 5, 4, clauses=long),
        window("poisoned", "NaN and infinity where nothing is written and where something is")(
            (1, 6), 1, clauses=("untouched", "ring"), poison=poison
        ),
        window("poisoned_keep", "NaN and infinity in a window with a kept token")(
            (5, 6), 1, 4, 1, ("untouched", "keep"), poison=poison
        ),
        window("digits", "numbers with many digits")((1, 6), 1, digits=True),
        window("steps_of_decoding", "a prefill of two tokens, then steps of one until the window is full and beyond")(
            (0,), 6, 4, clauses=stepped, steps=(2, 1, 1, 1, 1)
        ),
        window("steps_keep", "a prefill of three tokens, then steps of one, one token kept")(
            (0,), 6, 4, 1, (*stepped, "keep"), steps=(3, 1, 1, 1)
        ),
        window("steps_after_long_prefill", "a prefill longer than the window, then steps of one")(
            (0,), 7, 4, clauses=(*stepped, "long"), steps=(5, 1, 1)
        ),
        window("steps_after_long_prefill_keep", "a prefill longer than the window, then steps, one token kept")(
            (0,), 8, 4, 1, (*stepped, "long", "keep"), steps=(6, 1, 1)
        ),
        window("steps_with_an_empty_one", "a step of no token between two")(
            (4,), 3, 4, clauses=stepped, steps=(2, 0, 1)
        ),
        window("steps_full_from_the_start", "steps of one token in a full window, two kept")(
            (9,), 3, 5, 2, (*stepped, "keep"), steps=(1, 1, 1)
        ),
        *(
            window(f"{layout}_{name}", f"{name} {how}")((2, 6), 2, 4, 1, widths=(2, 2), memory_order={name: layout})
            for layout, how in LAYOUTS.items()
            for name in ("key_cache", "key", "value", "value_cache")
            if (layout, name[:3]) in (("fortran", "key"), ("gapped", "val"))
        ),
        window("readonly", "tokens and lengths that nobody may write")(
            (2, 2), 2, memory_order=dict.fromkeys(("key", "value", "past_lengths"), "readonly"), revision=2
        ),
        *(
            window(f"other_{name}", f"{name} is changed alone in a second call")(
                (1, 6), 1, changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("key_cache", "key", "past_lengths")
        ),
        window("other_keep", "keep is changed alone in a second call")(
            (4, 7), 1, 4, 1, kept, changed_argument=ChangedArgument("keep", 0)
        ),
        window("rejects_keep_all", "a keep of the whole window is refused")(
            (1, 6), 1, 4, 4, ("rejects.keep",), refused=("No token can be replaced.", "window_keep_one")
        ),
        window("rejects_keep_more", "a keep of more than the window is refused")(
            (1, 6), 1, 4, 7, ("rejects.keep",), refused=("No token can be replaced.", "window_keep_one")
        ),
        window("rejects_one_entry", "tokens of one batch entry for two are refused")(
            clauses=("rejects.shape",),
            shapes={"key": (1, 1, 1, 1), "value": (1, 1, 1, 1)},
            refused=("The tokens have one batch entry, the window has two.", "window_plain"),
        ),
        window("rejects_one_feature", "keys of one feature for two are refused")(
            (2, 9),
            2,
            3,
            None,
            ("rejects.shape",),
            heads=2,
            widths=(1, 2),
            shapes={"value": (2, 2, 2, 1)},
            refused=("The values have one feature, the window has two.", "window_heads"),
        ),
    )

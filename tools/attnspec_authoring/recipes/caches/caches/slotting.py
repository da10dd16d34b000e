"""Tokens written by slots into the pages of a pool."""

from __future__ import annotations

from typing import Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import AuthoredCase, headed, reported
from attnspec_authoring.recipes.caches.caches.cache_cases import LAYOUTS, cache_case, whole

SHOWN = (
    ("fortran", "key_pool"),
    ("fortran", "key"),
    ("reversed", "key_pool"),
    ("gapped", "value"),
    ("gapped", "slot_mapping"),
)
"""Memory layouts, each with the input that lies so."""


@headed
def slots(
    name: str,
    title: str,
    mapping: tuple[int, ...] = (4, 1, 3),
    pool: tuple[int, int] = (3, 2),
    heads: int = 1,
    widths: tuple[int, int] = (2, 1),
    clauses: tuple[str, ...] = ("slot", "token", "value", "untouched"),
    shapes: dict[str, tuple[int, ...]] | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of the slots of tokens, and of the number of pages and their size."""
    tokens = len(mapping)
    drawn = {
        "key_pool": (*pool, heads, widths[0]),
        "value_pool": (*pool, heads, widths[1]),
        "key": (tokens, heads, widths[0]),
        "value": (tokens, heads, widths[1]),
    }
    return cache_case(
        "write_slots",
        f"slots_{name}",
        f"Slots: {title}",
        drawn | (shapes or {}),
        tuple(f"slots.{clause}" for clause in clauses),
        ("present_key", "present_value"),
        given={"slot_mapping": whole(*mapping), **more.pop("given", {})},
        **more,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of slots."""
    skipped = ("negative", "token", "untouched")
    poison = {"key_pool": [(0, 0, 0, 0), (1, 0, 0, 1), (2, 1, 0, 1)], "value_pool": [(2, 0, 0, 0), (0, 0, 0, 0)]}
    return (
        slots("plain", "three tokens in two pages of three")(),
        slots("one_token", "one token, as in decoding")((3,)),
        slots("all", "every slot once, in no order")((3, 0, 5, 1, 4, 2)),
        slots("pages_of_four", "pages of four tokens, two of them")((6, 1, 4), (2, 4)),
        slots("square", "as many pages as tokens in a page, as heads and features")((1, 2), (2, 2), 2, (2, 2)),
        slots("equal_widths", "two heads, keys and values of one width")((5, 2), heads=2, widths=(1, 1)),
        slots("no_token", "no token at all")((), clauses=("untouched",)),
        slots("skipped", "a token between two is skipped")((4, -1, 1), clauses=skipped),
        slots("skipped_first", "the first token is skipped")((-1, 4, 2), clauses=skipped),
        slots("skipped_last", "the last two tokens are skipped, as at the end of a batch")(
            (3, 0, -1, -1),
            clauses=skipped,
            source=reported("vllm-project/vllm/issues/43810"),
        ),
        slots("skipped_all", "every token is skipped")((-1, -1), clauses=skipped),
        slots("skipped_by_other_numbers", "negative numbers other than -1")((-2, 4, -6, 1), clauses=skipped),
        slots("skipped_far", "a negative number beyond the pool")((5, -100, 2), clauses=skipped),
        slots("skipped_between_pages", "every second token is skipped")((0, -1, 3, -3, 5), clauses=skipped),
        slots("poisoned", "NaN and infinity where nothing is written and where something is")(
            clauses=("untouched", "slot"), poison=poison
        ),
        slots("poisoned_skipped", "NaN and infinity in a token that is skipped")(
            (4, -1, 1), clauses=skipped, poison={"key": [(1, 0, 0), (1, 0, 1)], "value": [(1, 0, 0)]}
        ),
        slots("digits", "numbers with many digits")(clauses=("untouched", "slot"), digits=True),
        *(
            slots(f"{layout}_{name}", f"{name} {how}")((4, 1, 3), (3, 2), 1, (2, 2), memory_order={name: layout})
            for layout, how in LAYOUTS.items()
            for name in ("key_pool", "key", "value", "slot_mapping")
            if (layout, name) in SHOWN
        ),
        slots("readonly", "tokens and slots that nobody may write")(
            memory_order=dict.fromkeys(("key", "value", "slot_mapping"), "readonly")
        ),
        *(
            slots(f"other_{name}", f"{name} is changed alone in a second call")(
                (4, 1, 0), changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("key_pool", "key", "slot_mapping")
        ),
        slots("rejects_beyond", "the slot behind the last one is refused")(
            (4, 6, 3), clauses=("rejects.slot",), refused=("There is no slot 6.", "slots_plain")
        ),
        slots("rejects_far", "a slot far beyond the pool is refused")(
            (40, 1, 3), clauses=("rejects.slot",), refused=("There is no slot 40.", "slots_plain")
        ),
        slots("rejects_one_head", "tokens of one head for two are refused")(
            (5, 2),
            heads=2,
            widths=(1, 1),
            clauses=("rejects.shape",),
            shapes={"key": (2, 1, 1), "value": (2, 1, 1)},
            refused=("The tokens have one head, the pools have two.", "slots_equal_widths"),
        ),
        slots("rejects_one_feature", "keys of one feature for two are refused")(
            clauses=("rejects.shape",),
            shapes={"key": (3, 1, 1)},
            refused=("The keys have one feature, their pool has two.", "slots_plain"),
        ),
    )

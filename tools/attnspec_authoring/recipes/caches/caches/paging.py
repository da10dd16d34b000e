"""Tokens written by sequence and position into pages."""

from __future__ import annotations

from typing import Any

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import AuthoredCase, headed, reported
from attnspec_authoring.recipes.caches.caches.cache_cases import LAYOUTS, cache_case, whole

PAGES = ((4, 1), (2,), (0, 3))
"""The pages of three sequences."""


@headed
def pages(
    name: str,
    title: str,
    tokens: tuple[tuple[int, int], ...] = ((0, 2), (1, 0), (2, 3)),
    table: tuple[tuple[int, ...], ...] = PAGES,
    pool: tuple[int, int] = (5, 2),
    heads: int = 1,
    widths: tuple[int, int] = (1, 1),
    clauses: tuple[str, ...] = ("page", "position", "sequence", "untouched"),
    shapes: dict[str, tuple[int, ...]] | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of tokens, each a sequence and a position, and of the pages of each sequence."""
    drawn = {
        "key_pool": (*pool, heads, widths[0]),
        "value_pool": (*pool, heads, widths[1]),
        "key": (len(tokens), heads, widths[0]),
        "value": (len(tokens), heads, widths[1]),
    }
    starts = [sum(map(len, table[:number])) for number in range(len(table) + 1)]
    indices = {
        "batch_indices": whole(*(sequence for sequence, _ in tokens)),
        "positions": whole(*(position for _, position in tokens)),
        "page_indices": whole(*(page for row in table for page in row)),
        "page_starts": whole(*starts),
    }
    return cache_case(
        "write_paged_cache",
        f"pages_{name}",
        f"Pages: {title}",
        drawn | (shapes or {}),
        tuple(f"pages.{clause}" for clause in clauses),
        ("present_key", "present_value"),
        given={**indices, **more.pop("given", {})},
        **more,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of pages."""
    one = ((0, 1, 2),)
    poison = {"key_pool": [(0, 0, 0, 0), (1, 0, 0, 0), (2, 1, 0, 0)], "value_pool": [(3, 1, 0, 0), (0, 1, 0, 0)]}
    return (
        pages("plain", "one token of each of three sequences")(),
        pages("prefill", "a prefill over the end of a page, beside a token of another sequence")(
            ((0, 0), (0, 1), (0, 2), (1, 0))
        ),
        pages("in_no_order", "tokens in another order than their sequences")(
            ((2, 0), (0, 3), (1, 1), (0, 1)), clauses=("token", "page")
        ),
        pages("one_sequence", "one sequence whose pages lie in order")(
            ((0, 4), (0, 5)), one, (3, 2), clauses=("page", "position")
        ),
        pages("pages_of_three", "pages of three tokens")(
            ((0, 4), (1, 2), (0, 2)), ((2, 0), (1,)), (3, 3), 1, clauses=("page", "position")
        ),
        pages("without_pages", "a sequence without pages between two")(
            ((0, 1), (2, 1), (2, 2)), ((2,), (), (3, 0)), (4, 2), clauses=("sequence", "page")
        ),
        pages("shared_page", "two sequences with a common first page")(
            ((0, 2), (1, 3)), ((4, 1), (4, 2)), clauses=("sequence", "page")
        ),
        pages("wide_values", "values wider than keys")(heads=2, widths=(1, 2), clauses=("value", "page")),
        pages("no_token", "no token at all")((), clauses=("untouched",)),
        pages("poisoned", "NaN and infinity where nothing is written and where something is")(
            clauses=("untouched", "page"), poison=poison
        ),
        pages("digits", "numbers with many digits")(
            ((0, 3), (1, 0)), ((2, 0), (1,)), (3, 2), clauses=("untouched", "page"), digits=True
        ),
        *(
            pages(f"{layout}_{name}", f"{name} {how}")(widths=(2, 2), memory_order={name: layout})
            for layout, how in LAYOUTS.items()
            for name in ("key_pool", "key", "positions", "page_indices")
            if (layout == "fortran" and "key" in name) or (layout == "gapped" and "key" not in name)
        ),
        pages("readonly", "tokens and indices that nobody may write")(
            memory_order=dict.fromkeys(("key", "value", "batch_indices", "positions", "page_indices"), "readonly")
        ),
        *(
            pages(f"other_{name}", f"{name} is changed alone in a second call")(
                ((0, 3), (1, 1)), ((4, 1), (2, 0)), changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("key_pool", "key", "positions", "page_indices", "batch_indices")
        ),
        pages("rejects_beyond", "a position beyond the pages of its sequence is refused")(
            ((0, 2), (1, 2), (2, 3)),
            clauses=("rejects.position",),
            source=reported("vllm-project/vllm/issues/53982"),
            refused=("The second sequence has one page of two tokens.", "pages_plain"),
        ),
        pages("rejects_beyond_last", "a position beyond the pages of the last sequence is refused")(
            ((0, 2), (1, 0), (2, 5)),
            clauses=("rejects.position",),
            refused=("The third sequence has two pages of two tokens.", "pages_plain"),
        ),
        pages("rejects_unknown_sequence", "a sequence that there is not is refused")(
            ((0, 2), (1, 0), (3, 0)),
            clauses=("rejects.position",),
            refused=("There are three sequences.", "pages_plain"),
        ),
        pages("rejects_one_head", "tokens of one head for two are refused")(
            heads=2,
            widths=(1, 2),
            clauses=("rejects.shape",),
            shapes={"key": (3, 1, 1), "value": (3, 1, 2)},
            refused=("The tokens have one head, the pools have two.", "pages_wide_values"),
        ),
        pages("rejects_one_feature", "keys of one feature for two are refused")(
            heads=2,
            widths=(1, 2),
            clauses=("rejects.shape",),
            shapes={"value": (3, 2, 1)},
            refused=("The values have one feature, their pool has two.", "pages_wide_values"),
        ),
    )

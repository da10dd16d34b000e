"""Causal masks as tables, and features cut into heads and joined again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed, reported
from attnspec_authoring.recipes.generator import decimals

if TYPE_CHECKING:
    from numpy.typing import NDArray


@headed
def causal_mask(
    name: str, title: str, *, changed_argument: ChangedArgument | None = None, revision: int = 1, **attributes: Any
) -> AuthoredCase:
    """Make a case of the causal mask."""
    kind = "additive" if attributes.get("additive") else "boolean"
    return AuthoredCase(
        id=f"layout/causal_mask_{name}",
        title=f"Causal mask: {title}",
        operation="causal_mask",
        clauses=("causal_mask.definition", "causal_mask.shape", f"causal_mask.{kind}"),
        source=made_for("layout"),
        attributes=attributes,
        dtypes=(),
        changed_argument=changed_argument,
        revision=revision,
    )


def far_masks() -> tuple[tuple[str, str, dict[str, Any]], ...]:
    """Return lengths of zero, a single query that is not the last, and positions beyond a byte on either side."""
    return (
        ("no_keys", "three queries, no keys", {"query_length": 3, "key_length": 0}),
        ("no_keys_offset", "three queries, no keys, an offset", {"query_length": 3, "key_length": 0, "offset": 2}),
        ("no_queries", "no queries, three keys", {"query_length": 0, "key_length": 3}),
        ("nothing", "no queries, no keys", {"query_length": 0}),
        ("single_query_at_the_first", "one query of five keys", {"query_length": 1, "key_length": 5}),
        ("single_query_at_0", "one query at the first of five keys", {"query_length": 1, "key_length": 5, "offset": 0}),
        ("single_query_at_2", "one query at the third of five keys", {"query_length": 1, "key_length": 5, "offset": 2}),
        ("keys_131", "two queries at the end of 131 keys", {"query_length": 2, "key_length": 131, "offset": 128}),
        ("keys_260", "two queries at the end of 260 keys", {"query_length": 2, "key_length": 260, "offset": 257}),
        (
            "queries_131",
            "131 queries, the last at the second key",
            {"query_length": 131, "key_length": 2, "offset": -129},
        ),
        (
            "queries_260",
            "260 queries, the last at the second key",
            {"query_length": 260, "key_length": 2, "offset": -258},
        ),
        *(
            (
                f"offset_{offset}".replace("-", "minus_"),
                f"three queries at {offset} before or behind four keys",
                {"query_length": 3, "key_length": 4, "offset": offset},
            )
            for offset in (126, -130, 254, -258, 32766, -32770, 65534, -65538)
        ),
    )


def counted(shape: tuple[int, ...], start: int) -> NDArray[np.float64]:
    """Give every element its number, so that each position differs from every other."""
    return np.arange(start, start + np.prod(shape), dtype=np.float64).reshape(shape)


@headed
def layout(
    name: str,
    title: str,
    shape: tuple[int, ...],
    *,
    num_heads: int | None = None,
    start: int = 0,
    profile: str = "layout",
    x: NDArray[np.float64] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: str | None = None,
    report: str | None = None,
    changed_argument: ChangedArgument | None = None,
    revision: int = 1,
) -> AuthoredCase:
    """Make a case of split_heads if a number of heads is given, else of combine_heads; `x` counts if it is None."""
    operation = "combine_heads" if num_heads is None else "split_heads"
    return AuthoredCase(
        id=f"{profile}/{operation}_{name}",
        title=f"{operation.split('_', maxsplit=1)[0].capitalize()} heads: {title}",
        operation=operation,
        clauses=(f"{operation}.order", f"{operation}.shape"),
        source=made_for(profile) if report is None else reported(report),
        inputs={"x": counted(shape, start) if x is None else x},
        attributes={} if num_heads is None else {"num_heads": num_heads},
        dtypes=dtypes,
        memory_order={} if memory_order is None else {"x": memory_order},
        changed_argument=changed_argument,
        revision=revision,
    )


def of_all_digits() -> tuple[AuthoredCase, ...]:
    """Move numbers that use every digit of float64."""
    name = "layout/heads_of_all_digits/x"
    return (
        layout("all_digits", "numbers of all digits")(
            (1, 3, 8), num_heads=2, x=decimals(name, (1, 3, 8)), dtypes=("float64",)
        ),
        layout("all_digits", "numbers of all digits")(
            (1, 2, 3, 4), x=decimals(name, (1, 2, 3, 4)), dtypes=("float64",)
        ),
    )


def head_cases() -> tuple[AuthoredCase, ...]:
    """Hold heads of unequal numbers of batch entries, tokens, heads and features."""
    unlike = "onnx/onnx/issues/7118"
    merge = "jsbaan/transformer-from-scratch/pull/6"
    return (
        layout("two", "three tokens of eight features in two heads")(
            (1, 3, 8), num_heads=2, report=unlike, changed_argument=ChangedArgument("x", reversed=True), revision=2
        ),
        layout("two_other_values", "the same with other numbers")(
            (1, 3, 8), num_heads=2, start=-24, changed_argument=ChangedArgument("num_heads", 4), revision=2
        ),
        layout("batch", "two batch entries, five tokens, four heads of three features")((2, 5, 12), num_heads=4),
        layout("one", "one head")((2, 3, 4), num_heads=1),
        layout("of_one_feature", "as many heads as features")((2, 3, 5), num_heads=5),
        layout("two", "two heads of three tokens and four features, joined")(
            (1, 2, 3, 4), report=merge, changed_argument=ChangedArgument("x", reversed=True), revision=2
        ),
        layout("two_other_values", "two heads joined, with other numbers")((1, 2, 3, 4), start=-24),
        layout("batch", "two batch entries of five heads, four tokens and three features, joined")((2, 5, 4, 3)),
        layout("one", "one head, joined")((2, 1, 3, 4)),
        layout("of_one_feature", "heads of one feature, joined")((2, 5, 3, 1)),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of causal masks and of heads."""
    return (
        # Hold masks of unequal lengths and several offsets.
        causal_mask("square", "five queries, five keys")(
            query_length=5, changed_argument=ChangedArgument("query_length", 4), revision=2
        ),
        causal_mask("square_additive", "five queries, five keys, as numbers to add")(
            query_length=5, additive=True, changed_argument=ChangedArgument("additive", False), revision=2
        ),
        causal_mask("more_keys", "three queries, five keys")(
            query_length=3, key_length=5, changed_argument=ChangedArgument("key_length", 6), revision=2
        ),
        causal_mask("more_keys_offset", "three queries at the last of five keys")(
            query_length=3, key_length=5, offset=2, changed_argument=ChangedArgument("offset", 1), revision=2
        ),
        causal_mask("more_queries", "five queries, three keys")(query_length=5, key_length=3),
        causal_mask("negative_offset", "the first two queries see no key")(query_length=5, key_length=3, offset=-2),
        causal_mask("offset_additive", "three queries after four past keys, as numbers to add")(
            query_length=3, key_length=7, offset=4, additive=True
        ),
        *(
            causal_mask(f"{name}_{kind}", f"{what}, {how}")(additive=additive, **lengths)
            for kind, how, additive in (("boolean", "truth values", False), ("additive", "numbers to add", True))
            for name, what, lengths in far_masks()
        ),
        causal_mask("fewer_keys_afterwards", "six queries, five keys, and fewer afterwards")(
            query_length=6, key_length=5, changed_argument=ChangedArgument("key_length", 3)
        ),
        causal_mask(
            "offset_minus_2_afterwards", "three queries an offset of -1 before four keys, and of -2 afterwards"
        )(query_length=3, key_length=4, offset=-1, changed_argument=ChangedArgument("offset", -2)),
        causal_mask("no_keys_afterwards", "four queries, as many keys, and none afterwards")(
            query_length=4, key_length=4, changed_argument=ChangedArgument("key_length", 0)
        ),
        causal_mask("square_after_no_keys", "five queries, no keys, and as many afterwards")(
            query_length=5, key_length=0, changed_argument=ChangedArgument("key_length", None)
        ),
        causal_mask("fewer_queries_afterwards", "seven queries, five keys, and fewer afterwards")(
            query_length=7, key_length=5, changed_argument=ChangedArgument("query_length", 2)
        ),
        causal_mask("later_afterwards", "three queries before six keys, and at them afterwards")(
            query_length=3, key_length=6, offset=-1, changed_argument=ChangedArgument("offset", 3)
        ),
        *(
            causal_mask(f"square_offset_{name}_{kind}", f"five queries, as many keys, an offset of {offset}, {how}")(
                query_length=5, offset=offset, additive=additive
            )
            for kind, how, additive in (("boolean", "truth values", False), ("additive", "numbers to add", True))
            for name, offset in (("2", 2), ("minus_2", -2))
        ),
        causal_mask("square_offset_key_length_null", "four queries, the number of keys null, an offset of 3")(
            query_length=4, key_length=None, offset=3
        ),
        causal_mask("square_offset_7", "three queries, as many keys, an offset beyond them")(query_length=3, offset=7),
        causal_mask("square_offset_minus_7", "three queries before all keys")(query_length=3, offset=-7),
        causal_mask("one_query_offset", "one query, one key, an offset of 1")(query_length=1, offset=1),
        causal_mask("no_queries_offset", "no query, no key, an offset of 3")(query_length=0, offset=3),
        causal_mask("far_offset", "an offset beyond the keys hides nothing")(query_length=3, key_length=4, offset=9),
        *head_cases(),
        *of_all_digits(),
    )

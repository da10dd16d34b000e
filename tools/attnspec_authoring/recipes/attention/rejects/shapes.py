"""Widths, heads, ranks, batches, lengths and masks that do not fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import boolean_mask, float_mask
from attnspec_authoring.recipes.attention.rejects.twins import PLAIN, STRICT, drawn, of_new_shape, refused
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def shape_refusals() -> tuple[AuthoredCase, ...]:
    """Hold widths, heads, ranks, batches and lengths of query, key and value that do not fit together."""
    plain, grouped = drawn(PLAIN), drawn("rejects/twin_grouped")
    rows = (
        row("width_narrower_keys", "Keys narrower than the queries are refused")(
            "width",
            {"key": plain["key"][..., :1]},
            "The queries have width 2, the keys width 1.",
            # An einsum repeats a single feature.
            STRICT,
        ),
        row("width_wider_keys", "Keys wider than the queries are refused")(
            "width", {"key": of_new_shape("wider", (3, 2, 5, 3))}, "The queries have width 2, the keys width 3.", None
        ),
        row("rank_3", "Query, key and value without a batch axis are refused")(
            "rank",
            {name: plain[name][0] for name in plain},
            "Query, key and value have rank 3 where 4 is required.",
            STRICT,
        ),
        row("rank_5", "Query, key and value with a fifth axis are refused")(
            "rank",
            {name: plain[name][np.newaxis] for name in plain},
            "Query, key and value have rank 5 where 4 is required.",
            STRICT,
        ),
        row("batch_of_query", "A batch of three queries against two of keys is refused")(
            "batch",
            {name: plain[name][:2] for name in ("key", "value")},
            "The query has batch 3; key and value have batch 2.",
            STRICT,
        ),
        row("batch_of_one", "Keys and values of one batch entry for three queries are refused")(
            "batch",
            {name: plain[name][:1] for name in ("key", "value")},
            "The query has batch 3; key and value have batch 1.",
            STRICT,
        ),
        row("length_fewer_values", "Four values for five keys are refused")(
            "length", {"value": plain["value"][:, :, :4]}, "There are five keys and four values.", STRICT
        ),
    )
    heads = (
        row("grouped_four_over_three", "Four query heads over three are refused")(
            {
                "query": of_new_shape("four", (1, 4, 4, 2)),
                **{name: of_new_shape(name, (1, 3, 5, 2)) for name in ("key", "value")},
            },
            "Four query heads are no multiple of three.",
            None,
        ),
        row("grouped_five_over_two", "Five query heads over two are refused")(
            {"query": grouped["query"][:, :5]}, "Five query heads are no multiple of two.", None
        ),
        row("grouped_fewer_than_shared", "One query head over two is refused")(
            {"query": grouped["query"][:, :1]}, "One query head is no multiple of two.", STRICT
        ),
        row("grouped_values_of_other_heads", "Values of three heads for keys of two are refused")(
            {"value": of_new_shape("three", (1, 3, 5, 2))}, "The keys have two heads, the values three.", STRICT
        ),
    )
    return (
        *(
            refused(name, title)(
                f"sdpa.rejects.{clause}", PLAIN, {**plain, **changed}, reason=reason, convention=convention
            )
            for name, title, clause, changed, reason, convention in rows
        ),
        *(
            refused(name, title)(
                "sdpa.rejects.grouped",
                "rejects/twin_grouped",
                {**grouped, **changed},
                reason=reason,
                convention=convention,
            )
            for name, title, changed, reason, convention in heads
        ),
    )


def mask_refusals() -> tuple[AuthoredCase, ...]:
    """Hold masks that broadcast to no table of scores, or do not have a column for each key."""
    boolean, added, past = "rejects/twin_boolean_mask", "rejects/twin_float_mask", "rejects/twin_past_mask"
    corrupting = "https://github.com/flashinfer-ai/flashinfer/issues/3176"
    wrong_axis = "https://github.com/AminRezaei0x443/memory-efficient-attention/issues/8"
    rows: tuple[tuple[str, str, str, tuple[int, ...], str | None], ...] = (
        ("mask_of_three_rows", "A mask of three rows for four queries is refused", boolean, (3, 5), corrupting),
        ("mask_of_four_columns", "A mask of four columns for five keys is refused", boolean, (4, 4), None),
        ("mask_of_one_column", "A mask of one column for five keys is refused", boolean, (4, 1), None),
        ("mask_of_six_columns", "A mask of six columns for five keys is refused", boolean, (4, 6), None),
        ("mask_transposed", "A mask with a row for each key is refused", boolean, (5, 4), wrong_axis),
        ("mask_of_three_heads", "A mask for three heads of two is refused", boolean, (3, 4, 5), None),
        ("mask_of_two_entries", "A mask for two batch entries of three is refused", boolean, (2, 1, 4, 5), None),
        ("mask_of_rank_5", "A mask with a fifth axis is refused", boolean, (2, 3, 2, 4, 5), None),
        ("float_mask_of_three_rows", "A float mask of three rows for four queries is refused", added, (3, 5), None),
        ("mask_without_past", "A mask of the new keys alone is refused where there is a past", past, (4, 5), None),
    )
    made: list[AuthoredCase] = []
    for name, title, twin, shape, url in rows:
        draw = float_mask if twin == added else boolean_mask
        against = "(3, 2, 4, 8)" if twin == past else "(3, 2, 4, 5)"
        made.append(
            refused(name, title)(
                "sdpa.rejects.mask_shape",
                twin,
                {**drawn(twin), "mask": draw(f"rejects/{name}", shape)},
                reason=f"A mask of shape {shape} does not fit scores of shape {against}.",
                url=url,
                # Libraries that broadcast by the rules of NumPy repeat a single column, and take any rank.
                convention=STRICT if shape[-1] == 1 or len(shape) > 4 else None,
            )
        )
    return tuple(made)


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refusals of shapes."""
    return (*shape_refusals(), *mask_refusals())

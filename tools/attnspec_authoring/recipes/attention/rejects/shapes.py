"""Widths, heads, ranks, batches, lengths, masks and scales of quantized tensors that do not fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.quantized import granularity
from attnspec_authoring.recipes.attention.quantized.formats import (
    INT8,
    KEY_SCALES,
    QUERY_SCALES,
    VALUE_SCALES,
    as_scale,
    quantized,
)
from attnspec_authoring.recipes.attention.rejects.counterparts import PLAIN, STRICT, drawn, of_new_shape, refused
from attnspec_authoring.recipes.attention.rejects.sizes import rows
from attnspec_authoring.recipes.authoring import AuthoredCase, row

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def mask_refusals() -> Iterator[AuthoredCase]:
    """Hold masks that broadcast to no table of scores, or do not have a column for each key."""
    boolean, added, past = "rejects/twin_boolean_mask", "rejects/twin_float_mask", "rejects/twin_past_mask"
    corrupting = "flashinfer-ai/flashinfer/issues/3176"
    wrong_axis = "AminRezaei0x443/memory-efficient-attention/issues/8"
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
    for name, title, counterpart, shape, report in rows:
        draw = float_mask if counterpart == added else boolean_mask
        against = "(3, 2, 4, 8)" if counterpart == past else "(3, 2, 4, 5)"
        yield refused(name, title)(
            "sdpa.rejects.mask_shape",
            counterpart,
            {**drawn(counterpart), "mask": draw(f"rejects/{name}", shape)},
            reason=f"A mask of shape {shape} does not fit scores of shape {against}.",
            report=report,
            # Libraries that broadcast by the rules of NumPy repeat a single column, and take any rank.
            convention=STRICT if shape[-1] == 1 or len(shape) > 4 else None,
        )


LENGTHS = "rejects/twin_lengths"


def length_refusals() -> tuple[AuthoredCase, ...]:
    """Change the number and the range of lengths of keys, up to five, and of queries, up to four."""

    def lengths(tensor: str, *numbers: int) -> dict[str, Any]:
        return {tensor: np.array(numbers, dtype=np.int64)}

    return rows(
        LENGTHS,
        row("key_lengths_of_one_entry", "One key length for three batch entries")(
            "batch", lengths("key_lengths", 3), True
        ),
        row("key_lengths_of_four_entries", "Four key lengths for three batch entries")(
            "batch", lengths("key_lengths", 5, 2, 3, 4), True
        ),
        row("query_lengths_of_one_entry", "One query length for three batch entries")(
            "batch", lengths("query_lengths", 3), True
        ),
        row("query_lengths_of_two_entries", "Two query lengths for three batch entries")(
            "batch", lengths("query_lengths", 4, 1), True
        ),
        row("query_lengths_of_four_entries", "Four query lengths for three batch entries")(
            "batch", lengths("query_lengths", 4, 1, 3, 2), True
        ),
        row("very_negative_key_length", "A key length of -5 and others, as if counted from the end")(
            "length", lengths("key_lengths", 5, 2, -5), True
        ),
        row("first_key_length_beyond", "A first key length of six for five keys")(
            "length", lengths("key_lengths", 6, 2, 3), True
        ),
        row("last_key_length_beyond", "A last key length of six for five keys")(
            "length", lengths("key_lengths", 5, 2, 6), True
        ),
        row("far_key_length", "A key length of 261 for five keys, five to a byte")(
            "length", lengths("key_lengths", 5, 261, 3), True
        ),
        row("first_query_length_beyond", "A first query length of five for four queries")(
            "length", lengths("query_lengths", 5, 1, 3), True
        ),
        row("far_query_length", "A query length of 260 for four queries, four to a byte")(
            "length", lengths("query_lengths", 4, 260, 3), True
        ),
    )


def axis_refusals() -> tuple[AuthoredCase, ...]:
    """Change each axis of a Boolean mask, of a float mask, and of one that covers a past; and group masks like keys."""
    boolean, added, past, grouped = (
        f"rejects/twin_{name}" for name in ("boolean_mask", "float_mask", "past_mask", "grouped_mask")
    )
    entry, head, query = single = tuple(f"rejects/twin_mask_of_one_{what}" for what in ("entry", "head", "query"))
    wrong: tuple[tuple[str, str, str, tuple[int, ...]], ...] = (
        ("mask_of_two_rows", "A mask of two rows for four queries", boolean, (2, 5)),
        ("mask_of_five_rows", "A mask of five rows for four queries", boolean, (5, 5)),
        ("mask_of_eight_rows", "A mask of eight rows for four queries", boolean, (8, 5)),
        ("mask_of_ten_columns", "A mask of ten columns for five keys", boolean, (4, 10)),
        ("mask_of_four_heads", "A mask for four heads of two", boolean, (4, 4, 5)),
        ("mask_of_four_entries", "A mask for four batch entries of three", boolean, (4, 1, 4, 5)),
        ("mask_of_six_entries", "A mask for six batch entries of three", boolean, (6, 1, 4, 5)),
        ("float_mask_of_four_columns", "A float mask of four columns for five keys", added, (4, 4)),
        ("float_mask_of_six_columns", "A float mask of six columns for five keys", added, (4, 6)),
        ("float_mask_of_one_column", "A float mask of one column for five keys", added, (4, 1)),
        ("float_mask_of_three_heads", "A float mask for three heads of two", added, (3, 4, 5)),
        ("float_mask_of_two_entries", "A float mask for two batch entries of three", added, (2, 1, 4, 5)),
        ("mask_of_past_alone", "A mask of the past keys alone", past, (4, 3)),
        ("mask_one_short_of_past", "A mask of seven columns for three past keys and five new ones", past, (4, 7)),
        ("mask_one_beyond_past", "A mask of nine columns for three past keys and five new ones", past, (4, 9)),
        ("mask_of_key_heads", "A mask for two key heads of six query heads", grouped, (2, 4, 5)),
        (
            "mask_of_key_heads_and_entry",
            "A mask for two key heads and an entry of six query heads",
            grouped,
            (1, 2, 4, 5),
        ),
        ("mask_of_two_entries_for_one", "A mask for two batch entries where there is one", entry, (2, 1, 4, 5)),
        ("mask_of_two_heads_for_one", "A mask for two heads where there is one", head, (1, 2, 4, 5)),
        ("mask_of_two_rows_for_one", "A mask of two rows for one query", query, (1, 1, 2, 5)),
        ("mask_of_four_rows_for_one", "A mask of rank 2 with four rows for one query", query, (4, 5)),
        ("mask_of_group", "A mask for each of three query heads in a group of six", grouped, (3, 4, 5)),
    )
    return tuple(
        refused(name, f"{title} is refused")(
            "sdpa.rejects.mask_shape",
            counterpart,
            {
                **drawn(counterpart),
                "mask": (float_mask if counterpart == added else boolean_mask)(f"rejects/{name}", shape),
            },
            reason=f"{title} does not fit.",
            # The rules of NumPy repeat a single column, and the scores of one entry, head or query.
            convention=STRICT if shape[-1] == 1 or counterpart in single else None,
        )
        for name, title, counterpart, shape in wrong
    )


CLAUSE = "sdpa.rejects.scale_shape"


def of_every_scale() -> tuple[AuthoredCase, ...]:
    """Return each of the three scales in every shape that could be taken for a right one, beside two right ones."""
    of_entries, of_heads = (
        {case.id: case for case in granularity.cases()}[f"quantized/{name}"]
        for name in ("query_per_batch_entry", "query_grouped")
    )
    entries, heads = np.linspace(0.01, 0.05, 3), np.linspace(0.01, 0.05, 6)
    shapes = (
        ("list_of_entries", "One scale for each batch entry in one axis", of_entries, entries, None),
        ("heads_before_entries", "Scales with heads before batch entries", of_entries, heads.reshape(2, 3), None),
        ("two_of_three_entries", "Scales of two batch entries for three", of_entries, heads[:4].reshape(2, 2), None),
        ("axis_behind", "Scales with an axis behind the heads", of_entries, heads.reshape(3, 2, 1), None),
        ("axes_of_keys", "Scales with axes of tokens and features", of_entries, heads.reshape(3, 2, 1, 1), None),
        ("axis_before", "Scales with an axis before the batch entries", of_entries, heads.reshape(1, 3, 2), STRICT),
        ("query_heads_of_entries", "Scales of six query heads of two", of_heads, np.tile(heads, (2, 1)), None),
    )
    return tuple(
        refused(f"{tensor}_scale_{name}", f"{title} are refused, as those of the {tensor}")(
            CLAUSE,
            counterpart.id,
            {**counterpart.inputs, f"{tensor}_scale": as_scale(scale)},
            reason=f"{title} do not fit.",
            convention=convention,
            attributes=counterpart.attributes,
        )
        for name, title, counterpart, scale, convention in shapes
        for tensor in ("query", "key", "value")
    )


def of_some_shapes() -> tuple[AuthoredCase, ...]:
    """Return scales of some shapes, each beside a counterpart that is near to it."""
    valid = {case.id: case for case in granularity.cases()}
    three = "quantized/grouped_three_heads"
    six, query = "quantized/grouped_per_batch_entry", "quantized/query_grouped"
    for_six, for_three = [0.02] * 6, [0.3] * 3
    wrong = (
        row("key_scale_of_query_heads", "A scale of keys for each of six query heads")(six, "key_scale", for_six, None),
        row("value_scale_of_query_heads", "A scale of values for each of six query heads")(
            six, "value_scale", for_six, None
        ),
        row("query_scale_of_query_heads", "A scale of queries for each of six query heads")(
            query, "query_scale", [0.02] * 6, None
        ),
        row("key_scale_of_two_heads", "Two scales of keys for three key heads")(three, "key_scale", [0.01, 0.02], None),
        row("value_scale_of_two_entries", "Scales of two batch entries for three")(
            three, "value_scale", [for_three] * 2, None
        ),
        row("value_scale_transposed", "Scales of heads and entries, transposed")(
            three, "value_scale", [[0.3, 0.4]] * 3, None
        ),
        row("key_scale_of_one_axis", "A scale for each head of each batch entry in one axis")(
            six, "key_scale", [0.01, 0.02, 0.03, 0.04], None
        ),
        row("key_scale_of_rank_3", "A scale of keys of rank 3")(six, "key_scale", [[[0.01], [0.02]]] * 2, STRICT),
    )
    return tuple(
        refused(name, f"{title} {'is' if title.startswith('A ') else 'are'} refused")(
            CLAUSE,
            counterpart,
            {**valid[counterpart].inputs, tensor: as_scale(scale)},
            reason=f"{title} {'does' if title.startswith('A ') else 'do'} not fit.",
            convention=convention,
            attributes=valid[counterpart].attributes,
        )
        for name, title, counterpart, tensor, scale, convention in wrong
    )


SCALES = {"query": QUERY_SCALES, "key": KEY_SCALES, "value": VALUE_SCALES}
COUNTERPART = "twin_scales"


def repeated_scales_cases() -> tuple[AuthoredCase, ...]:
    """Return scales of two batch entries for one, and scales of rank 3, beside scales of the heads alone."""
    valid = quantized(COUNTERPART, "Valid twin: scales for each of two key heads, in one batch entry")(
        Sizes(1, 2, 2, 3, 4, 2),
        query=INT8,
        key=INT8,
        value=INT8,
        query_scale=QUERY_SCALES,
        key_scale=KEY_SCALES,
        value_scale=VALUE_SCALES,
        profile="rejects",
    )
    plural = {"query": "queries", "key": "keys", "value": "values"}
    wrong = (
        ("two_entries_for_one", "of two batch entries for one", (2, 2)),
        ("an_axis_too_many", "of rank 3", (1, 1, 2)),
    )
    return (
        valid,
        *(
            refused(f"{tensor}_scale_of_{name}", f"Scales of {plural[tensor]} {what} are refused")(
                CLAUSE,
                valid.id,
                {**valid.inputs, f"{tensor}_scale": as_scale(np.broadcast_to(scales, shape))},
                reason=f"The {tensor}_scale is {what}.",
                convention=STRICT,
                attributes=valid.attributes,
            )
            for tensor, scales in SCALES.items()
            for name, what, shape in wrong
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *shape_refusals(),
        *mask_refusals(),
        *length_refusals(),
        *axis_refusals(),
        *of_some_shapes(),
        *of_every_scale(),
        *repeated_scales_cases(),
    )

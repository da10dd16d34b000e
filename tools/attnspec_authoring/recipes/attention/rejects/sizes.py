"""Every size relation from both sides, by each input that carries the size: one, fewer, more, and a multiple."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.rejects.counterparts import PLAIN, STRICT, drawn, of_new_shape, refused
from attnspec_authoring.recipes.authoring import AuthoredCase, row

PAST = "rejects/twin_past"
GROUPED = "rejects/twin_grouped"
Row = tuple[str, str, str, dict[str, Any], bool]
"""Name, title without "is refused", clause, changed inputs, and whether only strict checks must refuse it."""


def of_shape(name: str, tensor: str, *shape: int) -> dict[str, Any]:
    """Draw one tensor anew, in a shape that does not fit."""
    return {tensor: of_new_shape(f"{name}/{tensor}", shape)}


def sentence(title: str) -> str:
    """Return a title that says that something is refused."""
    return f"{title} {'is' if title.startswith(('A ', 'One ', 'No ')) else 'are'} refused"


def rows(counterpart: str, *wrong: Row) -> tuple[AuthoredCase, ...]:
    """Make refused cases of one counterpart."""
    inputs = drawn(counterpart)
    return tuple(
        refused(name, sentence(title))(
            f"sdpa.rejects.{clause}",
            counterpart,
            {**inputs, **changed},
            reason=f"{title} do not fit.",
            convention=STRICT if strict else None,
        )
        for name, title, clause, changed, strict in wrong
    )


def tensor_refusals() -> tuple[AuthoredCase, ...]:
    """Change width, rank, batch and length of one of query (3, 2, 4, 2), key and value (3, 2, 5, 2) at a time."""
    plain = drawn(PLAIN)
    return rows(
        PLAIN,
        row("width_of_one_feature", "Queries of one feature for keys of two")(
            "width", {"query": plain["query"][..., :1]}, True
        ),
        row("width_of_wider_queries", "Queries of four features for keys of two")(
            "width", of_shape("w4", "query", 3, 2, 4, 4), False
        ),
        row("width_of_six_features", "Keys of six features for queries of two")(
            "width", of_shape("w6", "key", 3, 2, 5, 6), False
        ),
        row("rank_3_of_query", "A query of rank 3 beside keys and values of rank 4")(
            "rank", {"query": plain["query"][0]}, True
        ),
        row("rank_3_of_key", "A key of rank 3 beside queries and values of rank 4")(
            "rank", {"key": plain["key"][0]}, True
        ),
        row("rank_3_of_value", "A value of rank 3 beside queries and keys of rank 4")(
            "rank", {"value": plain["value"][0]}, True
        ),
        row("rank_5_of_value", "A value of rank 5 beside queries and keys of rank 4")(
            "rank", {"value": plain["value"][np.newaxis]}, True
        ),
        row("rank_2", "Query, key and value of rank 2")("rank", {name: plain[name][0, 0] for name in plain}, True),
        row("batch_of_one_query", "One batch entry of queries for three of keys and values")(
            "batch", {"query": plain["query"][:1]}, True
        ),
        row("batch_of_two_queries", "Two batch entries of queries for three of keys and values")(
            "batch", {"query": plain["query"][:2]}, True
        ),
        row("batch_of_one_key", "One batch entry of keys for three of queries and values")(
            "batch", {"key": plain["key"][:1]}, True
        ),
        row("batch_of_one_value", "One batch entry of values for three of queries and keys")(
            "batch", {"value": plain["value"][:1]}, True
        ),
        row("batch_of_four_keys", "Four batch entries of keys for three of queries and values")(
            "batch", of_shape("b4", "key", 4, 2, 5, 2), True
        ),
        row("batch_of_four_values", "Four batch entries of values for three of queries and keys")(
            "batch", of_shape("b4", "value", 4, 2, 5, 2), True
        ),
        row("batch_of_six_values", "Six batch entries of values for three of queries and keys")(
            "batch", of_shape("b6", "value", 6, 2, 5, 2), True
        ),
        row("length_one_more_value", "Six values for five keys")("length", of_shape("l6", "value", 3, 2, 6, 2), True),
        row("length_twice_the_values", "Ten values for five keys")(
            "length", of_shape("l10", "value", 3, 2, 10, 2), True
        ),
        row("length_of_one_value", "One value for five keys")("length", {"value": plain["value"][:, :, :1]}, True),
        row("length_of_no_value", "No value for five keys")("length", {"value": plain["value"][:, :, :0]}, True),
        row("length_of_one_key", "Five values for one key")("length", {"key": plain["key"][:, :, :1]}, True),
        row("length_as_queries", "Four keys, as many as queries, for five values")(
            "length", {"key": plain["key"][:, :, :4]}, True
        ),
    )


def head_refusals() -> tuple[AuthoredCase, ...]:
    """Change the number of heads of query (1, 6, 4, 2), key and value (1, 2, 5, 2), each alone and keys with values."""
    grouped = drawn(GROUPED)

    def shared(name: str, heads: int) -> dict[str, Any]:
        return {tensor: of_new_shape(f"{name}/{tensor}", (1, heads, 5, 2)) for tensor in ("key", "value")}

    return rows(
        GROUPED,
        row("grouped_six_over_four", "Six query heads over four")("grouped", shared("g4", 4), False),
        row("grouped_six_over_five", "Six query heads over five")("grouped", shared("g5", 5), False),
        row("grouped_six_over_twelve", "Six query heads over twelve")("grouped", shared("g12", 12), False),
        row("grouped_seven_over_two", "Seven query heads over two")(
            "grouped", of_shape("g7", "query", 1, 7, 4, 2), False
        ),
        row("grouped_one_value_head", "Values of one head for keys of two")(
            "grouped", {"value": grouped["value"][:, :1]}, True
        ),
        row("grouped_one_key_head", "Keys of one head for values of two")(
            "grouped", {"key": grouped["key"][:, :1]}, True
        ),
        row("grouped_values_of_six", "Values of six heads, as queries, for keys of two")(
            "grouped", of_shape("v6", "value", 1, 6, 5, 2), True
        ),
        row("grouped_keys_of_six", "Keys of six heads, as queries, for values of two")(
            "grouped", of_shape("k6", "key", 1, 6, 5, 2), True
        ),
        row("grouped_keys_of_three", "Keys of three heads for values of two")(
            "grouped", of_shape("k3", "key", 1, 3, 5, 2), True
        ),
        row("grouped_values_of_four", "Values of four heads for keys of two")(
            "grouped", of_shape("v4", "value", 1, 4, 5, 2), True
        ),
    )


def past_refusals() -> tuple[AuthoredCase, ...]:
    """Change width, heads, batch and length of a past (3, 2, 3, 2), of keys and values alone and of both."""
    past = drawn(PAST)
    both = ("past_key", "past_value")

    def anew(name: str, *shape: int) -> dict[str, Any]:
        return {tensor: of_new_shape(f"{name}/{tensor}", shape) for tensor in both}

    return rows(
        PAST,
        row("past_wider", "Past keys of three features for new ones of two")(
            "width", of_shape("p3", "past_key", 3, 2, 3, 3), False
        ),
        row("past_of_one_head", "A past of one head for new keys of two")(
            "grouped", {name: past[name][:, :1] for name in both}, True
        ),
        row("past_of_four_heads", "A past of four heads for new keys of two")("grouped", anew("p4", 3, 4, 3, 2), True),
        row("past_of_one_entry", "A past of one batch entry for new keys of three")(
            "batch", {name: past[name][:1] for name in both}, True
        ),
        row("past_of_four_entries", "A past of four batch entries for new keys of three")(
            "batch", anew("pb4", 4, 2, 3, 2), True
        ),
        row("past_of_more_values", "Three past keys and four past values")(
            "length", of_shape("pv4", "past_value", 3, 2, 4, 2), True
        ),
        row("past_of_one_value", "Three past keys and one past value")(
            "length", {"past_value": past["past_value"][:, :, :1]}, True
        ),
        row("past_without_values", "Three past keys and no past value")(
            "length", {"past_value": past["past_value"][:, :, :0]}, True
        ),
        row("past_without_keys", "No past key and three past values")(
            "length", {"past_key": past["past_key"][:, :, :0]}, True
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refusals of query, key, value and past of other sizes."""
    return (*tensor_refusals(), *head_refusals(), *past_refusals())

"""Pasts and lengths that do not fit, what other operations refuse, and what only some declare to refuse."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.rejects.counterparts import PLAIN, STRICT, drawn, of_new_shape, refused
from attnspec_authoring.recipes.authoring import AuthoredCase, row, table


def past_refusals() -> tuple[AuthoredCase, ...]:
    """Hold pasts and lengths that do not fit the new keys."""
    past, lengths = drawn("rejects/twin_past"), drawn("rejects/twin_lengths")
    of_past = (
        row("past_narrower", "Past keys narrower than the new ones are refused")(
            "width", {"past_key": past["past_key"][..., :1]}, "The past keys have width 1, the new ones width 2.", None
        ),
        row("past_of_three_heads", "A past of three heads for two is refused")(
            "grouped",
            {name: of_new_shape(name, (3, 3, 3, 2)) for name in ("past_key", "past_value")},
            "The past has three heads, the new keys two.",
            STRICT,
        ),
        row("past_of_two_entries", "A past of two batch entries for three is refused")(
            "batch",
            {name: past[name][:2] for name in ("past_key", "past_value")},
            "The past has batch 2, the new keys batch 3.",
            STRICT,
        ),
        row("past_of_unequal_lengths", "Three past keys and two past values are refused")(
            "length",
            {"past_value": past["past_value"][:, :, :2]},
            "There are three past keys and two past values.",
            STRICT,
        ),
    )
    of_past += tuple(
        (
            f"past_{kind}_one_short_and_new_one_long",
            f"A past {kind} one token short is refused, also beside a new one that is as much longer",
            "length",
            {
                f"past_{kind}": past[f"past_{kind}"][:, :, 1:],
                kind: np.concatenate([past[kind], past[f"past_{kind}"][:, :, :1]], axis=2),
            },
            "Keys and values are as many in all, and neither of the past nor of the new ones are there as many.",
            STRICT,
        )
        for kind in ("key", "value")
    )
    of_lengths = (
        row("key_lengths_of_two_entries", "Two key lengths for three batch entries are refused")(
            "batch", {"key_lengths": np.array([5, 2])}, "There are two key lengths for a batch of three."
        ),
        row("key_length_beyond_the_keys", "A key length of six for five keys is refused")(
            "length", {"key_lengths": np.array([5, 6, 3])}, "The key length 6 exceeds the five keys."
        ),
        row("query_length_beyond_the_queries", "A query length of five for four queries is refused")(
            "length", {"query_lengths": np.array([4, 1, 5])}, "The query length 5 exceeds the four queries."
        ),
        row("negative_key_length", "A negative key length is refused")(
            "length", {"key_lengths": np.array([5, -1, 3])}, "The key length -1 is negative."
        ),
        row("negative_query_length", "A negative query length is refused")(
            "length", {"query_lengths": np.array([4, -1, 3])}, "The query length -1 is negative."
        ),
    )
    return (
        *(
            refused(name, title)(
                f"sdpa.rejects.{clause}", "rejects/twin_past", {**past, **changed}, reason=reason, convention=convention
            )
            for name, title, clause, changed, reason, convention in of_past
        ),
        *(
            refused(name, title)(
                f"sdpa.rejects.{clause}",
                "rejects/twin_lengths",
                {**lengths, **changed},
                reason=reason,
                convention=STRICT,
            )
            for name, title, clause, changed, reason in of_lengths
        ),
    )


def other_refusals() -> tuple[AuthoredCase, ...]:
    """Hold what other operations refuse, with counterparts of the profile layout."""
    names = ("query", "key", "value")
    tokens = {name: of_new_shape(f"tokens/{name}", (2, 4 if name == "query" else 5, 6)) for name in names}
    weights = {f"w_{name}": of_new_shape(f"w_{name}", (6, 6)) / 4.0 for name in (*names, "output")}
    module = {**tokens, **weights}
    states = {
        "encoder_states": of_new_shape("encoder_states", (6, 3)),
        "decoder_state": of_new_shape("decoder_state", (4,)),
    }
    return (
        refused("multi_head_four_heads", "Four heads over a width of six are refused")(
            "multi_head.rejects.divisible",
            "layout/multi_head_plain",
            module,
            reason="A width of 6 does not divide into four heads.",
            operation="multi_head_attention",
            attributes={"num_heads": 4},
        ),
        refused("multi_head_rank_2", "Query, key and value without a batch axis are refused by multi-head attention")(
            "multi_head.rejects.rank",
            "layout/multi_head_plain",
            {**module, **{name: tokens[name][0] for name in tokens}},
            reason="Query, key and value have rank 2 where 3 is required.",
            convention=STRICT,
            operation="multi_head_attention",
            attributes={"num_heads": 3},
        ),
        refused("split_heads_of_eight_features", "Three heads over eight features are refused when splitting")(
            "split_heads.rejects.divisible",
            "layout/split_heads_two",
            {"x": of_new_shape("split", (1, 3, 8))},
            reason="Eight features do not divide into three heads.",
            operation="split_heads",
            attributes={"num_heads": 3},
        ),
        refused("context_vector_widths", "A decoder state wider than the encoder states is refused")(
            "context_vector.rejects.width",
            "layout/context_more_tokens",
            states,
            reason="The encoder states have width 3, the decoder state has width 4.",
            operation="context_vector",
        ),
    )


def convention_refusals() -> tuple[AuthoredCase, ...]:
    """Hold inputs that some implementations declare to refuse."""
    plain = drawn(PLAIN)
    empty = {name: plain[name][:, :, :0] for name in ("key", "value")}
    return (
        refused("no_keys", "No key at all, for those who declare to refuse it")(
            "sdpa.no_keys", PLAIN, {**plain, **empty}, reason="There is no key.", convention=("no_keys", "refuse")
        ),
        refused("dead_row", "A row without keys, for those who declare to refuse it")(
            "sdpa.fully_masked_row",
            "rejects/twin_boolean_mask",
            {**drawn("rejects/twin_boolean_mask"), "mask": np.broadcast_to((np.arange(4) != 1)[:, np.newaxis], (4, 5))},
            reason="The second query may attend to no key.",
            convention=("fully_masked_row", "refuse"),
        ),
    )


TOKENS = ("query", "key", "value")
WEIGHTS = (*TOKENS, "output")


def heads() -> tuple[AuthoredCase, ...]:
    """Refuse numbers of heads that do not divide the features: more than features, and near a divisor."""
    case = table(refused, operation="multi_head_attention")
    lengths = {"query": 4, "key": 5, "value": 5}
    module = {
        **{name: of_new_shape(f"heads/{name}", (2, length, 6)) for name, length in lengths.items()},
        **{f"w_{name}": of_new_shape(f"heads/w_{name}", (6, 6)) / 4.0 for name in WEIGHTS},
    }
    ranks: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("rank_4", "Query, key and value of rank 4", {name: module[name][np.newaxis] for name in TOKENS}),
        ("rank_2_of_query", "A query of rank 2 beside keys and values of rank 3", {"query": module["query"][0]}),
        ("rank_2_of_key", "A key of rank 2 beside queries and values of rank 3", {"key": module["key"][0]}),
        ("rank_2_of_value", "A value of rank 2 beside queries and keys of rank 3", {"value": module["value"][0]}),
        (
            "rank_4_of_value",
            "Values of rank 4 beside queries and keys of rank 3",
            {"value": module["value"][np.newaxis]},
        ),
    )
    return (
        *(
            case(f"multi_head_{number}_heads_of_6", f"{number} heads over a width of six are refused")(
                "multi_head.rejects.divisible",
                "layout/multi_head_plain",
                module,
                reason=f"A width of 6 does not divide into {number} heads.",
                attributes={"num_heads": number},
            )
            for number in (5, 7, 12)
        ),
        *(
            case(
                f"multi_head_{number}_heads_of_{features}_fit_{tokens}_tokens",
                f"{number} heads over a width of {features} are refused: all numbers of {tokens} tokens divide",
            )(
                "multi_head.rejects.divisible",
                "layout/multi_head_plain",
                {
                    **{name: of_new_shape(f"fitting/{name}", (1, tokens, features)) for name in TOKENS},
                    **{f"w_{name}": of_new_shape(f"fitting/w_{name}", (features, features)) / 4.0 for name in WEIGHTS},
                },
                reason=f"A width of {features} does not divide into {number} heads.",
                attributes={"num_heads": number},
            )
            for number, features, tokens in ((4, 6, 2), (4, 6, 6), (2, 3, 2), (3, 4, 3))
        ),
        *(
            refused(
                f"split_heads_{number}_of_{features}_fit_{tokens}_tokens",
                f"{number} heads over {features} features are refused: all numbers of {tokens} tokens divide",
            )(
                "split_heads.rejects.divisible",
                "layout/split_heads_two",
                {"x": of_new_shape("split_fitting", (1, tokens, features))},
                reason=f"{features} features do not divide into {number} heads.",
                operation="split_heads",
                attributes={"num_heads": number},
            )
            for number, features, tokens in ((4, 6, 2), (2, 3, 2), (3, 4, 3))
        ),
        *(
            case(f"multi_head_{name}", f"{title} are refused by multi-head attention")(
                "multi_head.rejects.rank",
                "layout/multi_head_plain",
                {**module, **changed},
                reason=f"{title} do not have rank 3.",
                convention=STRICT,
                attributes={"num_heads": 3},
            )
            for name, title, changed in ranks
        ),
        *(
            refused(
                f"split_heads_{number}_of_{features}",
                f"{number} heads over {features} features are refused when splitting",
            )(
                "split_heads.rejects.divisible",
                "layout/split_heads_two",
                {"x": of_new_shape(f"split_{features}", (1, 3, features))},
                reason=f"{features} features do not divide into {number} heads.",
                operation="split_heads",
                attributes={"num_heads": number},
            )
            for number, features in ((5, 8), (7, 8), (9, 8), (16, 8), (2, 7), (2, 1))
        ),
        refused(
            "split_heads_tokens_divide",
            "Three heads over eight features of three tokens are refused: the tokens alone divide",
        )(
            "split_heads.rejects.divisible",
            "layout/split_heads_two",
            {"x": of_new_shape("split_tokens", (3, 3, 8))},
            reason="Eight features do not divide into three heads, though three tokens do.",
            operation="split_heads",
            attributes={"num_heads": 3},
        ),
    )


def states() -> tuple[AuthoredCase, ...]:
    """Refuse states of other widths, on both sides, and of one feature."""
    wrong = (
        ("narrower", "A decoder state narrower than the encoder states", 6, 3, 2, False),
        ("one_feature", "A decoder state of one feature beside encoder states of three", 6, 3, 1, True),
        ("encoder_of_one", "Encoder states of one feature beside a decoder state of three", 6, 1, 3, True),
        ("as_tokens", "A decoder state as wide as there are tokens, not features", 6, 3, 6, False),
        ("encoder_wider", "Encoder states wider than the decoder state", 6, 4, 3, False),
    )
    return tuple(
        refused(f"context_vector_{name}", f"{title} is refused")(
            "context_vector.rejects.width",
            "layout/context_more_tokens",
            {
                "encoder_states": of_new_shape(f"{name}/encoder_states", (tokens, width)),
                "decoder_state": of_new_shape(f"{name}/decoder_state", (other,)),
            },
            reason=f"The encoder states have width {width}, the decoder state has width {other}.",
            # The rules of NumPy repeat a single feature.
            convention=STRICT if strict else None,
            operation="context_vector",
        )
        for name, title, tokens, width, other, strict in wrong
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*past_refusals(), *other_refusals(), *convention_refusals(), *heads(), *states())

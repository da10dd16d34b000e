"""What the other operations refuse: heads that do not divide, ranks, and widths from both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.rejects.twins import STRICT, of_new_shape, refused

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

TOKENS = ("query", "key", "value")
WEIGHTS = (*TOKENS, "output")


def heads() -> tuple[AuthoredCase, ...]:
    """Refuse numbers of heads that do not divide the features: more than features, and near a divisor."""
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
            refused(f"multi_head_{number}_heads_of_6", f"{number} heads over a width of six are refused")(
                "multi_head.rejects.divisible",
                "layout/multi_head_plain",
                module,
                reason=f"A width of 6 does not divide into {number} heads.",
                operation="multi_head_attention",
                attributes={"num_heads": number},
            )
            for number in (5, 7, 12)
        ),
        *(
            refused(
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
                operation="multi_head_attention",
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
            refused(f"multi_head_{name}", f"{title} are refused by multi-head attention")(
                "multi_head.rejects.rank",
                "layout/multi_head_plain",
                {**module, **changed},
                reason=f"{title} do not have rank 3.",
                convention=STRICT,
                operation="multi_head_attention",
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
    """Return what the other operations refuse."""
    return (*heads(), *states())

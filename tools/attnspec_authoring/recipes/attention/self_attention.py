"""Profile self_attention: query, key and value are the same tokens, and nothing is stated that modules do not take.

A module for self-attention takes no scale, has all four biases, that of the output alone or none, and is often causal
always, or masked always.
Each mistake of masks, causality, heads and projections shows here to every such module, whatever else it declines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import DrawnMask, Sizes, attention, booleans, drawn_by, floats
from attnspec_authoring.recipes.attention.layout.projections import BIASES, drawn, multi_head
from attnspec_authoring.recipes.authoring import AuthoredCase, headed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

WITH_WEIGHTS = ("output", "weights")

PADDED = np.array([[[[1, 1, 1, 1]]], [[[1, 1, 1, 0]]]], dtype=bool)
"""Keys (B, 1, 1, S) of two entries, of which the second one ends with a token of padding."""


@headed
def layer(
    name: str,
    title: str,
    batch: int = 2,
    tokens: int = 4,
    *,
    num_heads: int = 3,
    width: int = 6,
    mask: NDArray[Any] | DrawnMask | None = None,
    factor: float = 1.0,
    output_alone: bool = False,
    **common: Any,
) -> tuple[AuthoredCase, ...]:
    """Make two cases of multi-head attention over its own tokens, without biases and with all of them.

    The tokens are multiplied by the `factor`. With `output_alone` a third one has the bias of the output.
    """

    def made(own_name: str, beside: str, biases: tuple[str, ...]) -> AuthoredCase:
        case_id = f"self_attention/multi_head_{own_name}"
        drawn_mask = drawn_by(case_id, {"mask": mask})["mask"]
        one: NDArray[Any] = factor * drawn(case_id, {"tokens": (batch, tokens, width)})["tokens"]
        return multi_head(own_name, f"{title}, {beside}")(
            (batch, tokens, tokens),
            width=width,
            num_heads=num_heads,
            biases=biases,
            mask=drawn_mask,
            profile="self_attention",
            replaced=dict.fromkeys(("query", "key", "value"), one),
            **common,
        )

    both = made(name, "without biases", ()), made(f"{name}_biases", "with all biases", BIASES)
    if not output_alone:
        return both
    return *both, made(f"{name}_bias_of_output", "with the bias of the output alone", ("b_output",))


@headed
def of_heads(name: str, title: str, sizes: Sizes | None = None, **arguments: Any) -> AuthoredCase:
    """Make a case of scaled dot-product attention over its own tokens."""
    sizes = sizes or Sizes(2, 3, 3, 4, 4, width=2)
    case_id = f"self_attention/{name}"
    tokens: Mapping[str, Any] = {"query": sizes.drawn(case_id)["query"]}
    return attention(case_id, f"Self-attention: {title}")(
        sizes, **dict.fromkeys(("query", "key", "value"), tokens["query"]), **arguments
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of the profile self_attention."""
    square = Sizes(2, 1, 1, 2, 2, width=2)
    layers = (
        layer("plain", "two heads of three features")(1, 4, num_heads=2, output_alone=True, outputs=WITH_WEIGHTS),
        layer("boolean_mask_of_queries", "a Boolean mask (S, S)")(
            mask=booleans(4, 4), output_alone=True, changed_argument=ChangedArgument("mask", reversed=True)
        ),
        layer("boolean_mask_of_entries", "a Boolean mask (B, 1, S, S)")(mask=booleans(2, 1, 4, 4)),
        layer("boolean_mask_of_heads", "a Boolean mask (B, H, S, S)")(mask=booleans(2, 3, 4, 4)),
        layer("boolean_mask_of_three_axes", "a Boolean mask (H, S, S), as many heads as entries")(
            num_heads=2, width=4, mask=booleans(2, 4, 4)
        ),
        layer("padding", "a Boolean mask of padded keys (B, 1, 1, S)")(mask=PADDED),
        layer("as_many_entries_as_tokens", "a Boolean mask (S, S), as many entries as tokens")(
            2, 2, mask=np.array([[1, 1], [0, 1]], dtype=bool)
        ),
        layer("padding_of_as_many_entries", "padded keys (B, 1, 1, S), as many entries as tokens")(
            2, 2, mask=np.array([[[[1, 1]]], [[[0, 1]]]], dtype=bool)
        ),
        layer("fully_masked_row", "a query without a key")(
            1,
            3,
            num_heads=2,
            width=4,
            mask=np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]], dtype=bool),
            conventions=("fully_masked_row",),
        ),
        layer("float_mask_of_queries", "a float mask (S, S)")(mask=floats(4, 4)),
        layer("float_mask_of_entries", "a float mask (B, 1, S, S)")(mask=floats(2, 1, 4, 4)),
        layer("float_mask_of_zeros_and_ones", "a float mask of zeros and ones")(
            mask=np.array([[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]], dtype=np.float64)
        ),
        layer("causal", "causal")(2, 5, is_causal=True, output_alone=True, outputs=WITH_WEIGHTS),
        layer("causal_one_head", "causal, one head of three features")(1, 4, num_heads=1, width=3, is_causal=True),
        layer("causal_large_scores", "causal, scores of some thousands")(
            1, 3, num_heads=2, width=4, factor=64.0, is_causal=True
        ),
        layer("large_scores_masked", "scores of some thousands under a mask")(
            1, 3, num_heads=2, width=4, factor=64.0, mask=np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
        ),
        layer("causal_and_padding", "causal, and padded keys")(mask=PADDED, is_causal=True),
        layer("many_heads", "four heads of two features")(2, 3, num_heads=4, width=8, factor=2.0),
        layer("more_tokens", "one head, seven tokens")(1, 7, num_heads=1, width=4, factor=2.0),
        layer("causal_many_heads", "causal, four heads of two features")(
            2, 3, num_heads=4, width=8, factor=2.0, is_causal=True
        ),
        layer("causal_and_masked_key", "causal, and one masked key of one entry")(
            2,
            4,
            num_heads=2,
            width=4,
            mask=np.array([[[[1, 0, 1, 1]]], [[[1, 1, 1, 1]]]], dtype=bool),
            is_causal=True,
        ),
        layer("causal_and_padding_of_half", "causal, and an entry of which half are padded keys")(
            2,
            4,
            num_heads=1,
            width=3,
            mask=np.array([[[[1, 1, 0, 0]]], [[[1, 0, 1, 1]]]], dtype=bool),
            is_causal=True,
        ),
        layer("causal_and_float_mask", "causal, and a float mask (S, S)")(
            mask=floats(4, 4, hides=False), is_causal=True
        ),
    )
    return (
        *(case for together in layers for case in together),
        of_heads("boolean_mask_of_queries", "a Boolean mask (S, S)")(mask=booleans(4, 4)),
        of_heads("boolean_mask_of_entries", "a Boolean mask (B, 1, S, S)")(mask=booleans(2, 1, 4, 4)),
        of_heads("boolean_mask_of_heads", "a Boolean mask (B, H, S, S)")(mask=booleans(2, 3, 4, 4)),
        of_heads("padding", "a Boolean mask of padded keys (B, 1, 1, S)")(mask=PADDED),
        of_heads("as_many_entries_as_tokens", "a Boolean mask (S, S), as many entries as tokens")(
            square, mask=np.array([[1, 1], [0, 1]], dtype=bool)
        ),
        of_heads("float_mask_of_queries", "a float mask (S, S)")(mask=floats(4, 4)),
        of_heads("float_mask_of_entries", "a float mask (B, 1, S, S)")(mask=floats(2, 1, 4, 4)),
        of_heads("causal", "causal")(Sizes(2, 3, 3, 5, 5), is_causal=True),
        of_heads("causal_one_head", "causal, one head")(Sizes(1, 1, 1, 4, 4, width=2), is_causal=True),
        of_heads("causal_and_padding", "causal, and padded keys")(mask=PADDED, is_causal=True),
        of_heads("causal_and_float_mask", "causal, and a float mask (S, S)")(
            mask=floats(4, 4, hides=False), is_causal=True
        ),
    )

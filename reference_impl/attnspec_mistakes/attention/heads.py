"""What goes wrong in splitting and combining heads: the order of the axes and of the features."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attnspec_mistakes.departures import departure, in_working_precision, named_output
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.split_heads import split_heads

if TYPE_CHECKING:
    from attnspec_reference.precision import Array


def reshaped_instead(x: Array) -> Array:
    """Give the second and the third axis each other's length, and leave the numbers where they lie."""
    first, second, third, fourth = x.shape
    return x.reshape(first, third, second, fourth)


def unmoved(x: Array) -> Array:
    """Leave the axes as they are."""
    return x


def dealt_out(x: Array, num_heads: int) -> Array:
    """Deal the features out to the heads one by one, like cards."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, width // num_heads, num_heads).swapaxes(-1, -2)


def features_before_heads(x: Array) -> Array:
    """Turn (B, H, S, E) into (B, S, E, H), so that the heads alternate within a token."""
    return x.transpose(0, 2, 3, 1)


def summed_heads(*, x: Array) -> Array:
    """Add the heads up."""
    return np.sum(x, axis=1)


def remainder_dropped(x: Array, *, num_heads: int) -> Array:
    """Leave out the features that do not fill a head."""
    return split_heads(x[..., : x.shape[-1] // num_heads * num_heads], num_heads=num_heads)


mistake_of_splitting = partial(Mistake, operation="split_heads")
mistake_of_combining = partial(Mistake, operation="combine_heads")

MISTAKES: tuple[Mistake, ...] = (
    mistake_of_splitting(
        id="split_heads.not_transposed",
        clause="split_heads.order",
        sentence="The array was reshaped to (batch, heads, tokens, features) directly, which mixes up the tokens.",
        engineer="A view to (B, H, S, E) stands in for a view to (B, S, H, E) and a permute.",
        remedy="Reshape to (batch, tokens, heads, features) first, then transpose tokens and heads.",
        function=named_output(departure(split_heads, heads_before_tokens=reshaped_instead)),
        source="https://github.com/onnx/onnx/issues/7118",
    ),
    mistake_of_splitting(
        id="split_heads.interleaved",
        clause="split_heads.order",
        sentence="The features were dealt out in turn: head h took features h, h + H and so on.",
        engineer="The channel is split as (E, H) instead of (H, E).",
        remedy="Give head h consecutive features: reshape to (batch, tokens, heads, features), in this order.",
        function=named_output(departure(split_heads, cut_features=dealt_out)),
    ),
    mistake_of_splitting(
        id="split_heads.tokens_before_heads",
        clause="split_heads.shape",
        sentence="The tokens still stand before the heads.",
        engineer="The permute after the view is missing: the result is laid out BSHE.",
        remedy="Transpose tokens and heads, to get (batch, heads, tokens, features).",
        function=named_output(departure(split_heads, heads_before_tokens=unmoved)),
    ),
    mistake_of_combining(
        id="combine_heads.not_transposed",
        clause="combine_heads.order",
        sentence="The heads were joined without first putting tokens before heads, which mixes up the tokens.",
        engineer="A view of BHSE memory stands in for the permute to BSHE before the merge.",
        remedy="Transpose heads and tokens first, then join the last two axes.",
        function=named_output(departure(combine_heads, tokens_before_heads=reshaped_instead)),
        source="https://github.com/jsbaan/transformer-from-scratch/pull/6",
    ),
    mistake_of_combining(
        id="combine_heads.interleaved",
        clause="combine_heads.order",
        sentence="The features of the heads alternate within a token instead of standing head after head.",
        engineer="The merge permutes to (B, S, E, H), so channels of the heads interleave.",
        remedy="Transpose to (batch, tokens, heads, features), with the features last, before joining.",
        function=named_output(departure(combine_heads, tokens_before_heads=features_before_heads)),
    ),
    mistake_of_combining(
        id="combine_heads.summed",
        clause="combine_heads.shape",
        sentence="The heads were added up instead of laid side by side.",
        engineer="The heads are reduced by a sum where they are to be concatenated.",
        remedy="Concatenate the heads along the features, so that each token has all of them again.",
        function=in_working_precision(summed_heads),
    ),
    mistake_of_splitting(
        id="split_heads.remainder_dropped",
        clause="split_heads.rejects.divisible",
        sentence="Features that are left over when they are cut into heads were dropped.",
        engineer="head_dim = width / num_heads is rounded down and not checked.",
        remedy="Refuse a number of features that is no multiple of num_heads.",
        function=named_output(remainder_dropped),
    ),
)

"""What goes wrong in the axes of attention: heads, batch entries, rows and columns, strides of a mask."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_lengths import of_first_entry
from attnspec_mistakes.departures import altered, departure, in_working_precision
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"


def by_number_of_shared_heads(shared: Array, heads: int) -> Array:
    """Divide the number of a query head by the number of key heads instead of the size of a group."""
    count = max(shared.shape[1], 1)
    return shared[:, np.arange(heads) // count % count]


def last_head_first(shared: Array, heads: int) -> Array:
    """Give the last group of query heads the first key head."""
    return np.repeat(shared[:, ::-1], heads // max(shared.shape[1], 1), axis=1)


def values_tiled(**arguments: Any) -> Attention:
    """Repeat each key head, but the row of value heads."""
    heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
    attention = scaled_dot_product_attention(**arguments)
    if heads == shared or heads % shared:
        return attention
    order = [head % shared for head in range(heads)]
    for name in ("key", "past_key"):
        if arguments.get(name) is not None:
            arguments[name] = np.repeat(arguments[name], heads // shared, axis=1)
    for name in ("value", "past_value"):
        if arguments.get(name) is not None:
            arguments[name] = arguments[name][:, order]
    return attention._replace(output=scaled_dot_product_attention(**arguments).output)


def reshaped_key(query: Array, key: Array) -> Array:
    """Give the last two axes of the key each other's length, and leave the numbers where they lie."""
    return query @ key.reshape(*key.shape[:2], key.shape[3], key.shape[2])


def pairs_of_features(query: Array, key: Array) -> Array:
    """Go through the features two at a time, and leave out what is left over."""
    width = max(query.shape[-1] // 2 * 2, 1)
    return query[..., :width] @ np.swapaxes(key[..., :width], -1, -2)


def tokens_before_heads(**arguments: Any) -> Attention:
    """Return (B, Sq, Hq, Ev)."""
    attention = scaled_dot_product_attention(**arguments)
    return attention._replace(output=np.swapaxes(attention.output, 1, 2))


def as_wide_as_queries(**arguments: Any) -> Attention:
    """Return as many features as a query has."""
    attention = scaled_dot_product_attention(**arguments)
    width, owed = np.shape(arguments["query"])[-1], attention.output.shape[-1]
    padded = np.pad(attention.output, [(0, 0)] * 3 + [(0, max(width - owed, 0))])
    return attention._replace(output=padded[..., :width])


def keys_averaged(**arguments: Any) -> Attention:
    """Take the mean of the keys instead of the values."""
    arguments["value"], arguments["past_value"] = arguments["key"], arguments.get("past_key")
    return scaled_dot_product_attention(**arguments)


@in_working_precision
def across_heads(**arguments: Any) -> Attention:
    """Let the heads of a token attend to each other: tokens and heads change places."""
    for name in ("query", "key", "value"):
        arguments[name] = np.swapaxes(arguments[name], 1, 2)
    attention = scaled_dot_product_attention(**arguments)
    return attention._replace(output=np.swapaxes(attention.output, 1, 2))


def mask_of_first_query(mask: Array) -> Array:
    """Take the first row of the mask for all."""
    return mask[..., :1, :]


def mask_transposed(mask: Array) -> Array:
    """Read the rows of the mask as its columns."""
    return np.swapaxes(mask, -1, -2)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.heads_by_number_of_groups",
        clause="sdpa.heads.grouped",
        sentence="The number of a query head was divided by the number of key heads, not by the size of a group.",
        engineer="kv_head = head / num_kv_heads, which is right only where that equals the group size.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention, repeat_heads=by_number_of_shared_heads),
        source="https://github.com/HazyResearch/HipKittens/pull/22",
    ),
    mistake(
        id="sdpa.heads_reversed",
        clause="sdpa.heads.grouped",
        sentence="The key and value heads were taken in reverse order.",
        engineer="The kv head index runs backwards, as with a negative head stride.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention, repeat_heads=last_head_first),
    ),
    mistake(
        id="sdpa.values_tiled",
        clause="sdpa.heads.grouped",
        sentence="The value heads were tiled (0, 1, 0, 1); the key heads were repeated (0, 0, 1, 1), as they must be.",
        engineer="The kv head index of V is head % num_kv_heads; that of K is right.",
        remedy="Repeat the value heads as the key heads: query head h reads h // (Hq / Hkv) of both.",
        function=values_tiled,
        source="https://github.com/ekzhang/jax-js/pull/180",
    ),
    mistake(
        id="sdpa.key_of_first_entry",
        clause="sdpa.scores",
        sentence="Every batch entry was compared with the keys of the first one.",
        engineer="The batch stride of the key is taken as 0.",
        remedy="Compare the queries of each batch entry with its own keys.",
        function=altered(scaled_dot_product_attention, key=of_first_entry),
    ),
    mistake(
        id="sdpa.value_of_first_entry",
        clause="sdpa.output",
        sentence="Every batch entry was given the values of the first one.",
        engineer="The batch stride of the value is taken as 0.",
        remedy="Weigh in each batch entry its own values.",
        function=altered(scaled_dot_product_attention, value=of_first_entry),
    ),
    mistake(
        id="sdpa.key_reshaped",
        clause="sdpa.scores",
        sentence="The key was reshaped to (features, keys) instead of transposed, which mixes up its numbers.",
        engineer="A view stands in for the transpose of the last two axes of the key.",
        remedy="Swap the last two axes of the key: np.swapaxes(key, -1, -2).",
        function=departure(scaled_dot_product_attention, score_every_key=reshaped_key),
        source="https://github.com/pytorch/pytorch/issues/195320",
    ),
    mistake(
        id="sdpa.odd_feature_dropped",
        clause="sdpa.scores",
        sentence="The last feature was left out of the dot products where their number is odd.",
        engineer="The inner loop is vectorised by two and has no tail.",
        remedy="Take the dot product over all features.",
        function=departure(scaled_dot_product_attention, score_every_key=pairs_of_features),
        source="https://github.com/tenstorrent/tt-metal/issues/20715",
    ),
    mistake(
        id="sdpa.output_tokens_before_heads",
        clause="sdpa.output",
        sentence="The output has tokens before heads: (batch, tokens, heads, features).",
        engineer="The result is laid out BSHE and not permuted to BHSE.",
        remedy="Return (batch, heads, tokens, features), or declare --layout bshe for all of them.",
        function=tokens_before_heads,
        source="https://github.com/facebookresearch/xformers/issues/932",
    ),
    mistake(
        id="sdpa.output_as_wide_as_queries",
        clause="sdpa.output",
        sentence="The output has as many features as the queries; it must have as many as the values.",
        engineer="The output is allocated with head_dim_qk where head_dim_v is due.",
        remedy="Take the width of the output from the values.",
        function=as_wide_as_queries,
        source="https://github.com/pytorch/pytorch/issues/176767",
    ),
    mistake(
        id="sdpa.keys_averaged",
        clause="sdpa.output",
        sentence="The weights were applied to the keys instead of the values.",
        engineer="The second product is bound to K instead of V.",
        remedy="Multiply the weights by the values.",
        function=keys_averaged,
    ),
    mistake(
        id="sdpa.attends_across_heads",
        clause="sdpa.scores",
        sentence="The heads of each token attended to each other: heads were taken for tokens.",
        engineer="BHSE operands are read as BSHE.",
        remedy="Attend over the third axis, the tokens; the second is the heads.",
        function=across_heads,
        source="https://github.com/facebookresearch/xformers/issues/932",
    ),
    mistake(
        id="sdpa.mask_of_first_query",
        clause="sdpa.mask.broadcast",
        sentence="Every query was masked by the row of the first one.",
        engineer="The row stride of the mask is taken as 0.",
        remedy="Let each query read its own row; only an axis of length 1 is repeated.",
        function=altered(scaled_dot_product_attention, mask=mask_of_first_query),
        source="https://github.com/openvinotoolkit/openvino/pull/30758",
    ),
    mistake(
        id="sdpa.mask_transposed",
        clause="sdpa.mask.broadcast",
        sentence="The rows of the mask were taken for its columns.",
        engineer="Row and column strides of the mask are swapped.",
        remedy="A mask has a row for each query and a column for each key.",
        function=altered(scaled_dot_product_attention, mask=mask_transposed),
        source="https://github.com/hyunwoongko/transformer/pull/40",
    ),
)

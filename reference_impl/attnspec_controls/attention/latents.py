"""Other ways to latent attention: absorbed, with keys and values of heads, a loop, stored steps, tiles, pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.attention import attention_softmax
from attnspec_controls.control import Control
from attnspec_mistakes.attention.latents.latent_patches import allowing
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference.attention.absorbed_latent_attention import AbsorbedLatentAttention, absorbed_latent_attention
from attnspec_reference.attention.attention_inputs import check_lengths, check_mask
from attnspec_reference.attention.latent_attention import (
    LatentAttention,
    check_matrices,
    check_past_tokens,
    check_tokens,
    latent_attention,
    make_keys,
    make_values,
)
from attnspec_reference.attention.paged_latents import paged_absorbed_latent_attention, paged_latent_attention
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention
from attnspec_reference.attention.served_attention import pages_needed
from attnspec_reference.precision import result_dtype, round_to, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array

NAIVE, ABSORBED = "latent_attention", "absorbed_latent_attention"


def checked(arguments: Mapping[str, Any]) -> None:
    """Refuse what latent attention refuses."""
    content, latent = np.shape(arguments["query_content"]), np.shape(arguments["latent"])
    check_tokens(content, np.shape(arguments["query_rotary"]), latent, np.shape(arguments["key_rotary"]))
    check_matrices(content, latent, np.shape(arguments["w_key"]), np.shape(arguments["w_value"]))
    past = arguments.get("past_latent")
    check_past_tokens(past, arguments.get("past_key_rotary"), latent, np.shape(arguments["key_rotary"]))
    keys = latent[1] + (0 if past is None else np.shape(past)[1])
    check_mask(arguments.get("mask"), (*content[:3], keys))
    for name, tokens in (("key_lengths", keys), ("query_lengths", content[2])):
        check_lengths(name, arguments.get(name), tokens, content[0], past=past is not None)


def absorbing(store: Callable[[Array, Any], Array]) -> Callable[..., LatentAttention]:
    """Make latent attention in its absorbed form, which may store queries and latent means between its steps."""

    @np.errstate(all="ignore")
    def attend(
        *,
        query_content: ArrayLike,
        latent: ArrayLike,
        key_rotary: ArrayLike,
        past_latent: ArrayLike | None = None,
        past_key_rotary: ArrayLike | None = None,
        scale: float | None = None,
        magnitude: float = 1.0,
        is_causal: bool = False,
        causal_alignment: str = "top_left",
        **others: Any,
    ) -> LatentAttention:
        tokens = {"latent": latent, "key_rotary": key_rotary}
        checked(
            {
                "query_content": query_content,
                "past_latent": past_latent,
                "past_key_rotary": past_key_rotary,
                **tokens,
                **others,
            }
        )
        dtype = result_dtype(query_content)
        content, w_key, w_value = (
            widen(each, dtype) for each in (query_content, others.pop("w_key"), others.pop("w_value"))
        )
        rotary = widen(others.pop("query_rotary"), dtype)
        past = 0 if past_latent is None else np.shape(past_latent)[1]
        present = [
            np.array(new) if earlier is None else np.concatenate([earlier, new], axis=1)
            for earlier, new in ((past_latent, latent), (past_key_rotary, key_rotary))
        ]
        if is_causal and past:
            # A past is one with the keys here: top left of the new tokens, or the bottom right as before.
            queries, keys = content.shape[2], present[0].shape[1]
            offset = past if causal_alignment == "top_left" else keys - queries
            allowed = np.less_equal(np.arange(int(keys)), np.arange(int(queries))[:, np.newaxis] + offset)
            others, is_causal = {**others, "mask": allowing(others.get("mask"), allowed)}, False
        width = content.shape[-1] + rotary.shape[-1]
        attention = absorbed_latent_attention(
            store(content @ w_key.swapaxes(-1, -2), dtype),
            rotary,
            widen(present[0], dtype),
            widen(present[1], dtype),
            scale=magnitude * magnitude / math.sqrt(width) if scale is None else scale,
            is_causal=is_causal,
            causal_alignment=causal_alignment,
            **others,
        )
        output_latent = store(attention.output_latent, dtype)
        rounded = {name: round_to(dtype, array) for name, array in attention._asdict().items()}
        return LatentAttention(
            output=round_to(dtype, output_latent @ w_value),
            present_latent=present[0],
            present_key_rotary=present[1],
            **rounded,
        )

    return attend


def kept(array: Array, _dtype: Any) -> Array:
    """Keep an array as it is."""
    return array


def stored(array: Array, dtype: Any) -> Array:
    """Round an array to the dtype of the results, as where it is stored between two kernels."""
    return widen(round_to(dtype, array), dtype)


@np.errstate(all="ignore")
def from_stored_keys(**arguments: Any) -> LatentAttention:
    """Store keys and values of heads between the steps."""
    dtype = result_dtype(arguments["query_content"])

    def keys(tokens: Array, w_key: Array) -> Array:
        return stored(make_keys(tokens, w_key), dtype)

    def values(tokens: Array, w_value: Array) -> Array:
        return stored(make_values(tokens, w_value), dtype)

    return patch(latent_attention, make_keys=keys, make_values=values)(**arguments)


def one_by_one(tokens: Array, matrices: Array) -> Array:
    """Multiply token after token by the matrix of head after head, feature after feature."""
    batch, length, width = tokens.shape
    product = np.zeros((batch, len(matrices), length, matrices.shape[-1]), dtype=tokens.dtype)
    for head, matrix in enumerate(matrices):
        for token in range(length):
            for feature in range(width):
                product[:, head, token] += tokens[:, token, feature, np.newaxis] * matrix[feature]
    return product


def parts_apart(query: Array, key: Array, value: Array, mask: Any = None, **given: Any) -> Attention:
    """Multiply the last feature apart, and add its products to the others before the scale."""

    def score(queries: Array, keys: Array) -> Array:
        content = queries[..., :-1] @ keys[..., :-1].swapaxes(-1, -2)
        return content + queries[..., -1:] @ keys[..., -1:].swapaxes(-1, -2)

    return patch(scaled_dot_product_attention, score_every_key=score)(query, key, value, mask, **given)


def online(query: Array, key: Array, value: Array, mask: Any = None, **given: Any) -> Attention:
    """Attend with a softmax taken online, two keys at a time."""
    finish = attention_softmax.from_logits(attention_softmax.online(2))
    past = {name: given.pop(name) for name in ("past_key", "past_value") if given.get(name) is not None}
    arguments = {name: each for name, each in given.items() if each is not None}
    if mask is not None:
        arguments["mask"] = mask
    outputs = finish(query=query, key=key, value=value, **past, **arguments)
    return Attention(**dict(outputs))  # type: ignore[arg-type]


def scaled_query(query_latent: ArrayLike, query_rotary: ArrayLike, *others: Any, scale: float, **given: Any) -> Any:
    """Fold the scale into both parts of the query."""
    factor = np.asarray(scale, dtype=np.asarray(query_latent).dtype)
    return absorbed_latent_attention(
        np.asarray(query_latent) * factor, np.asarray(query_rotary) * factor, *others, scale=1.0, **given
    )._replace()


def as_grouped_attention(
    *, query_latent: Array, query_rotary: Array, latent: Array, key_rotary: Array, **others: Any
) -> AbsorbedLatentAttention:
    """Repeat the tokens for every head, and attend in each head by itself."""
    check_tokens(query_latent.shape, query_rotary.shape, latent.shape, key_rotary.shape)
    heads, width = query_latent.shape[1], latent.shape[-1]
    if width != query_latent.shape[-1]:
        raise ValueError("Queries and latents need the same width.")
    key = np.repeat(np.concatenate([latent, key_rotary], axis=-1)[:, np.newaxis], heads, axis=1)
    attention = scaled_dot_product_attention(
        np.concatenate([query_latent, query_rotary], axis=-1), key, key[..., :width], **others
    )
    return AbsorbedLatentAttention(
        attention.output, attention.weights, attention.logsumexp, attention.scores, attention.logits
    )


def gathered(paged: Callable[..., Any]) -> Callable[..., Any]:
    """Gather all pages of each sequence at once into pools of their own, one sequence behind the other."""

    def attend(
        *, block_table: Array, key_lengths: Array, latent_pool: Array, key_rotary_pool: Array, **others: Any
    ) -> Any:
        size = latent_pool.shape[1]
        counts = [pages_needed(int(length), size) for length in key_lengths]
        pages = np.concatenate(
            [np.zeros(0, np.int64), *(row[:count] for row, count in zip(block_table, counts, strict=True))]
        )
        table = np.zeros((len(counts), max(counts, default=0)), dtype=np.int64)
        for row, count, end in zip(table, counts, np.cumsum(counts), strict=True):
            row[:count] = np.arange(end - count, end)
        pools = {"latent_pool": latent_pool[pages], "key_rotary_pool": key_rotary_pool[pages]}
        return paged(block_table=table, key_lengths=key_lengths, **pools, **others)

    return attend


CONTROLS: tuple[Control, ...] = (
    Control(
        id="latent.naive",
        operation=NAIVE,
        sentence="Keys and values of heads are made token by token, and the heads attend to them.",
        function=patch(latent_attention, make_keys=one_by_one, make_values=one_by_one),
    ),
    Control(
        id="latent.absorbed",
        operation=NAIVE,
        sentence="The queries absorb the matrices of the keys, and those of the values are applied afterwards.",
        function=absorbing(kept),
    ),
    Control(
        id="latent.naive_stored",
        operation=NAIVE,
        sentence="Keys and values are rounded to the dtype of the results between the steps.",
        function=from_stored_keys,
    ),
    Control(
        id="latent.absorbed_stored",
        operation=NAIVE,
        sentence="Absorbed queries and means of latents are rounded to the dtype of the results between the steps.",
        function=absorbing(stored),
    ),
    Control(
        id="latent.parts_apart",
        operation=NAIVE,
        sentence="The products of the last rotated feature are added to those of the others.",
        function=patch(latent_attention, scaled_dot_product_attention=parts_apart),
    ),
    Control(
        id="latent.online_softmax_tiles_of_2",
        operation=NAIVE,
        sentence="The softmax is taken online, in one pass over tiles of two keys.",
        function=patch(latent_attention, scaled_dot_product_attention=online),
    ),
    Control(
        id="latent.paged_gathered",
        operation=NAIVE,
        sentence="The pages of all sequences are gathered before they are read.",
        function=gathered(paged_latent_attention),
        layout="paged",
    ),
    Control(
        id="absorbed.repeated_for_heads",
        operation=ABSORBED,
        sentence="The tokens are repeated for every head.",
        function=in_working_precision(as_grouped_attention),
    ),
    Control(
        id="absorbed.scaled_query",
        operation=ABSORBED,
        sentence="The scale is folded into both parts of the query.",
        function=in_working_precision(scaled_query),
    ),
    Control(
        id="absorbed.parts_apart",
        operation=ABSORBED,
        sentence="The products of the last rotated feature are added to those of the others.",
        function=in_working_precision(patch(absorbed_latent_attention, scaled_dot_product_attention=parts_apart)),
    ),
    Control(
        id="absorbed.online_softmax_tiles_of_2",
        operation=ABSORBED,
        sentence="The softmax is taken online, in one pass over tiles of two keys.",
        function=in_working_precision(patch(absorbed_latent_attention, scaled_dot_product_attention=online)),
    ),
    Control(
        id="absorbed.paged_gathered",
        operation=ABSORBED,
        sentence="The pages of all sequences are gathered before they are read.",
        function=gathered(paged_absorbed_latent_attention),
        layout="paged",
    ),
)

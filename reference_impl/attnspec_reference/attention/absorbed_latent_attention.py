"""Absorbed latent attention: the latents themselves are keys and values, as kernels take them.

The queries have absorbed the matrices of the keys, and what comes back is still to be multiplied by those of the
values. The specification page is ``spec/operations/attention/absorbed_latent_attention.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.latent_attention import check_tokens, join_rotated_queries
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import Array, quietly


class AbsorbedLatentAttention(NamedTuple):
    """What absorbed latent attention computes, the result first.

    Attributes
    ----------
    output_latent
        Weighted means of the latents (B, H, Sq, C).
    weights
        Share of each key (B, H, Sq, Sk).
    logsumexp
        Natural logarithm of the softmax denominator (B, H, Sq); minus infinity where it is empty.
    scores
        Dot products of both parts times the scale (B, H, Sq, Sk).
    logits
        Scores after the float mask (B, H, Sq, Sk), minus infinity at excluded keys.
    """

    output_latent: Array
    weights: Array
    logsumexp: Array
    scores: Array
    logits: Array


@quietly
def absorbed_latent_attention(
    query_latent: ArrayLike,
    query_rotary: ArrayLike,
    latent: ArrayLike,
    key_rotary: ArrayLike,
    mask: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    query_lengths: ArrayLike | None = None,
    *,
    scale: float,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
) -> AbsorbedLatentAttention:
    """Let all heads attend to one key for each token: its latent, and behind it its rotated key.

    Parameters
    ----------
    query_latent
        Queries that have absorbed the matrices of the keys (B, H, Sq, C). Their dtype is the dtype of the results.
    query_rotary
        The rotated part of the queries (B, H, Sq, Dr).
    latent
        Latents (B, Sk, C): keys and values of all heads.
    key_rotary
        Rotated keys (B, Sk, Dr) of all heads.
    mask, key_lengths, query_lengths, is_causal, causal_alignment
        As in latent attention.
    scale
        Factor of the dot products. It has no default: the widths of the heads before absorption are not known here.

    Returns
    -------
    attention
        ``output_latent``, ``weights``, ``logsumexp``, ``scores`` and ``logits``, in the dtype of ``query_latent``.

    Raises
    ------
    ValueError
        The shapes do not fit together, or an attribute or a length is out of its range.
    """
    # Check the inputs
    check_tokens(np.shape(query_latent), np.shape(query_rotary), np.shape(latent), np.shape(key_rotary))
    check_latent_width(np.shape(query_latent), np.shape(latent))

    # Join the rotated parts
    query = join_rotated_queries(np.asarray(query_latent), np.asarray(query_rotary))
    key = join_rotated_tokens(np.asarray(latent), np.asarray(key_rotary))

    # Share the latents
    key, value = share_tokens(key), share_tokens(np.asarray(latent))

    # Attend
    attention = scaled_dot_product_attention(
        query,
        key,
        value,
        mask,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        scale=scale,
    )
    return AbsorbedLatentAttention(
        output_latent=attention.output,
        weights=attention.weights,
        logsumexp=attention.logsumexp,
        scores=attention.scores,
        logits=attention.logits,
    )


def check_latent_width(query_latent: tuple[int, ...], latent: tuple[int, ...]) -> None:
    """Refuse queries of another width than the latents."""
    if query_latent[3] != latent[2]:
        raise ValueError(
            f"query_latent has shape {query_latent}, latent {latent}: both need the same number of features."
        )


def join_rotated_tokens(latent: Array, key_rotary: Array) -> Array:
    """Put the rotated key of a token behind its latent (B, Sk, C + Dr)."""
    return np.concatenate([latent, key_rotary], axis=-1)


def share_tokens(tokens: Array) -> Array:
    """Make the tokens (B, Sk, features) the one key or value head (B, 1, Sk, features) that all query heads read."""
    return tokens[:, np.newaxis]

"""Latent attention: the heads make their keys and values from one latent of each token.

A cache holds a short latent for each token, and one rotated key that all heads share. The specification page is
``spec/operations/attention/latent_attention.md``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.phases import weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen

Shape = tuple[int, ...]


class LatentAttention(NamedTuple):
    """What latent attention computes, the result first.

    Attributes
    ----------
    output
        Weighted means of the values (B, H, Sq, Ev).
    weights
        Share of each key (B, H, Sq, P + Sk).
    logsumexp
        Natural logarithm of the softmax denominator (B, H, Sq); minus infinity where it is empty.
    scores
        Dot products of both parts times the scale (B, H, Sq, P + Sk).
    logits
        Scores after the float mask (B, H, Sq, P + Sk), minus infinity at excluded keys.
    output_latent
        Weighted means of the latents (B, H, Sq, C), of which ``w_value`` makes the output.
    present_latent
        Past and new latents (B, P + Sk, C).
    present_key_rotary
        Past and new rotated keys (B, P + Sk, Dr).
    """

    output: Array
    weights: Array
    logsumexp: Array
    scores: Array
    logits: Array
    output_latent: Array
    present_latent: Array
    present_key_rotary: Array


@quietly
def latent_attention(
    query_content: ArrayLike,
    query_rotary: ArrayLike,
    latent: ArrayLike,
    key_rotary: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    mask: ArrayLike | None = None,
    past_latent: ArrayLike | None = None,
    past_key_rotary: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    query_lengths: ArrayLike | None = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    magnitude: float = 1.0,
) -> LatentAttention:
    """Let every head attend to keys and values that it makes from the latents.

    Parameters
    ----------
    query_content
        The part of the queries that is not rotated (B, H, Sq, Dn). Its dtype is the dtype of the results.
    query_rotary
        The rotated part of the queries (B, H, Sq, Dr).
    latent
        Latents (B, Sk, C), one for each token and all heads.
    key_rotary
        Rotated keys (B, Sk, Dr), one for each token and all heads.
    w_key
        For each head the matrix (H, C, Dn) that makes its keys of latents, applied from the right.
    w_value
        For each head the matrix (H, C, Ev) that makes its values of latents, applied from the right.
    mask
        Rank 2 to 4, broadcast from the right to (B, H, Sq, P + Sk), as in scaled dot-product attention.
    past_latent
        Latents of earlier tokens (B, P, C), which stand before ``latent``.
    past_key_rotary
        Rotated keys of earlier tokens (B, P, Dr).
    key_lengths
        Integers (B,): how many tokens of each batch entry count as keys, the first ones.
    query_lengths
        Integers (B,): how many queries of each batch entry count, the first ones.
    is_causal
        Whether a query may attend only to keys at and before its own position.
    causal_alignment
        ``top_left``: the first query stands at the first key of ``latent``. ``bottom_right``: the last query stands
        at the last key.
    scale
        Factor of the dot products; the square of ``magnitude`` over the square root of Dn + Dr when None.
    magnitude
        YaRN's magnitude, of which the default scale has the square; 1 for models without it.

    Returns
    -------
    attention
        ``output``, ``weights``, ``logsumexp``, ``scores``, ``logits``, ``output_latent``, ``present_latent`` and
        ``present_key_rotary``, in the dtype of ``query_content``.

    Raises
    ------
    ValueError
        The shapes do not fit together, an attribute or a length is out of its range, or past and lengths are
        both given.
    """
    # Check the inputs
    content_shape, rotary_shape = np.shape(query_content), np.shape(query_rotary)
    check_tokens(content_shape, rotary_shape, np.shape(latent), np.shape(key_rotary))
    check_matrices(content_shape, np.shape(latent), np.shape(w_key), np.shape(w_value))
    check_past_tokens(past_latent, past_key_rotary, np.shape(latent), np.shape(key_rotary))

    # Prepend the past
    past_length = 0 if past_latent is None else np.shape(past_latent)[1]
    present_latent = prepend_tokens(past_latent, latent)
    present_key_rotary = prepend_tokens(past_key_rotary, key_rotary)

    # Widen
    dtype = result_dtype(query_content)
    query_content, query_rotary = widen(query_content, dtype), widen(query_rotary, dtype)
    tokens, rotated = widen(present_latent, dtype), widen(present_key_rotary, dtype)
    w_key, w_value = widen(w_key, dtype), widen(w_value, dtype)

    # Make the keys
    key = make_keys(tokens, w_key)

    # Make the values
    value = make_values(tokens, w_value)

    # Join the rotated parts
    query = join_rotated_queries(query_content, query_rotary)
    key = join_rotated_keys(key, rotated)

    # Attend in every head
    (past_key, key), (past_value, value) = past_and_new(key, past_length), past_and_new(value, past_length)
    attention = scaled_dot_product_attention(
        query,
        key,
        value,
        mask,
        past_key=past_key,
        past_value=past_value,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        scale=scale_of_joined(scale, magnitude, content_shape[-1], rotary_shape[-1]),
    )

    # Weigh the latents
    output_latent = weigh_latents(attention.weights, tokens, attention.logits)

    # Round
    return LatentAttention(
        output=round_to(dtype, attention.output),
        weights=round_to(dtype, attention.weights),
        logsumexp=round_to(dtype, attention.logsumexp),
        scores=round_to(dtype, attention.scores),
        logits=round_to(dtype, attention.logits),
        output_latent=round_to(dtype, output_latent),
        present_latent=round_to(dtype, present_latent),
        present_key_rotary=round_to(dtype, present_key_rotary),
    )


def check_tokens(content: Shape, rotary: Shape, latent: Shape, key_rotary: Shape) -> None:
    """Refuse queries, latents and rotated keys that do not fit together."""
    for name, shape in (("query_content", content), ("query_rotary", rotary)):
        if len(shape) != 4:
            raise ValueError(f"{name} has shape {shape}; it needs rank 4: (batch, heads, tokens, features).")
    for name, shape in (("latent", latent), ("key_rotary", key_rotary)):
        if len(shape) != 3:
            raise ValueError(f"{name} has shape {shape}; it needs rank 3: (batch, tokens, features), without heads.")
    shapes = f"query_content has shape {content}, query_rotary {rotary}, latent {latent}, key_rotary {key_rotary}"
    if content[:3] != rotary[:3]:
        raise ValueError(f"{shapes}: both parts of a query need the same batch size, heads and tokens.")
    if latent[:2] != key_rotary[:2]:
        raise ValueError(f"{shapes}: latents and rotated keys need the same batch size and tokens.")
    if content[0] != latent[0]:
        raise ValueError(f"{shapes}: queries and latents need the same batch size.")
    if rotary[3] != key_rotary[2]:
        raise ValueError(f"{shapes}: rotated queries and keys need the same number of features.")


def check_matrices(content: Shape, latent: Shape, w_key: Shape, w_value: Shape) -> None:
    """Refuse matrices that are not one for each head, from latents to keys and to values."""
    heads, width, features = content[1], latent[2], content[3]
    if w_key != (heads, width, features):
        raise ValueError(
            f"w_key has shape {w_key}; {heads} heads, latents of {width} features and queries of {features} need "
            f"{(heads, width, features)}."
        )
    if len(w_value) != 3 or w_value[:2] != (heads, width):
        raise ValueError(
            f"w_value has shape {w_value}; {heads} heads and latents of {width} features need "
            f"({heads}, {width}, features of a value)."
        )


def check_past_tokens(past_latent: ArrayLike | None, past_key_rotary: ArrayLike | None, *new: Shape) -> None:
    """Refuse a past of latents without rotated keys, and one that differs from the new in more than its tokens."""
    if past_latent is None and past_key_rotary is None:
        return
    if past_latent is None or past_key_rotary is None:
        raise ValueError("past_latent and past_key_rotary are given together, or neither is.")
    past = np.shape(past_latent), np.shape(past_key_rotary)
    for name, shape, shape_of_new in zip(("past_latent", "past_key_rotary"), past, new, strict=True):
        if len(shape) != 3 or (shape[0], shape[2]) != (shape_of_new[0], shape_of_new[2]):
            raise ValueError(
                f"{name} has shape {shape}, the new tokens {shape_of_new}: they may differ in the number of tokens "
                "alone."
            )
    if past[0][1] != past[1][1]:
        raise ValueError(
            f"past_latent has shape {past[0]}, past_key_rotary {past[1]}: both need the same number of tokens."
        )


def prepend_tokens(past: ArrayLike | None, new: ArrayLike) -> Array:
    """Put the past tokens before the new ones (B, P + Sk, features); a copy of the new ones when there is no past."""
    return np.array(new) if past is None else np.concatenate([np.asarray(past), np.asarray(new)], axis=1)


def make_keys(tokens: Array, w_key: Array) -> Array:
    """Make the keys of every head (B, H, S, Dn) of the latents (B, S, C)."""
    return tokens[:, np.newaxis] @ w_key


def make_values(tokens: Array, w_value: Array) -> Array:
    """Make the values of every head (B, H, S, Ev) of the latents (B, S, C)."""
    return tokens[:, np.newaxis] @ w_value


def join_rotated_queries(content: Array, rotary: Array) -> Array:
    """Put the rotated features of a query behind the others (B, H, Sq, Dn + Dr)."""
    return np.concatenate([content, rotary], axis=-1)


def join_rotated_keys(key: Array, rotated: Array) -> Array:
    """Put the rotated key of a token behind the keys that all heads make of it (B, H, S, Dn + Dr)."""
    shared = np.broadcast_to(rotated[:, np.newaxis], (*key.shape[:2], *rotated.shape[1:]))
    return np.concatenate([key, shared], axis=-1)


def scale_of_joined(scale: float | None, magnitude: float, content: int, rotary: int) -> float | None:
    """Choose the factor of the scores: the given one, or the squared magnitude over the root of both widths."""
    return float(scale) if scale is not None else magnitude**2 / math.sqrt(content + rotary)


def past_and_new(tokens: Array, past_length: int) -> tuple[Array | None, Array]:
    """Part the keys or values of the past from the new ones (B, H, S, features); None without a past."""
    return (tokens[:, :, :past_length] if past_length else None), tokens[:, :, past_length:]


def weigh_latents(weights: Array, tokens: Array, logits: Array) -> Array:
    """Sum the latents, each times its weight (B, H, Sq, C); an excluded one adds nothing, whatever it holds."""
    return weigh_values(
        weights, np.broadcast_to(tokens[:, np.newaxis], (*weights.shape[:2], *tokens.shape[1:])), logits != -np.inf
    )

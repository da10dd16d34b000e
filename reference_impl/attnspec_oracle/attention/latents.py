"""Latent attention: keys and values are exact products of latents and matrices, the softmax is that of attention."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.attending import attend
from attnspec_oracle.attention.logits import Scale, inverse_root
from attnspec_oracle.attention.scaled_dot_product_attention import means
from attnspec_oracle.attention.softmax import rounded_logits
from attnspec_oracle.exact import ExactArray, exact_array, joined, matmul

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_oracle.attention.attending import Attending
    from attnspec_oracle.certification import Elements, Outputs


def latent_attention(
    *,
    query_content: NDArray[Any],
    query_rotary: NDArray[Any],
    latent: NDArray[Any],
    key_rotary: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    past_latent: NDArray[Any] | None = None,
    past_key_rotary: NDArray[Any] | None = None,
    scale: float | None = None,
    magnitude: float = 1.0,
    **placing: Any,
) -> Outputs:
    """Evaluate ``latent_attention`` (clauses ``latent.*``).

    Parameters
    ----------
    query_content, query_rotary
        (B, H, Sq, Dn), (B, H, Sq, Dr).
    latent, key_rotary
        (B, Sk, C), (B, Sk, Dr).
    w_key, w_value
        (H, C, Dn), (H, C, Ev), applied from the right.
    past_latent, past_key_rotary
        (B, P, C), (B, P, Dr): what stands before them.
    scale, magnitude
        The factor of the dot products; magnitude**2 / sqrt(Dn + Dr) when None.
    placing
        Mask, lengths and causality, as :func:`scaled_dot_product_attention` takes them.

    Returns
    -------
    dict[str, Callable]
        ``output`` (B, H, Sq, Ev); ``weights``, ``scores`` and ``logits`` (B, H, Sq, P+Sk); ``logsumexp`` (B, H, Sq);
        ``output_latent`` (B, H, Sq, C); ``present_latent`` (B, P+Sk, C); ``present_key_rotary`` (B, P+Sk, Dr).

    Raises
    ------
    ValueError
        When shapes contradict each other or an attribute has no meaning.
    """
    past = 0 if past_latent is None else past_latent.shape[1]
    present_latent, present_key_rotary = (
        new if earlier is None else np.concatenate([earlier, new], axis=1)
        for earlier, new in ((past_latent, latent), (past_key_rotary, key_rotary))
    )
    heads, width = query_content.shape[1], query_content.shape[-1] + query_rotary.shape[-1]
    tokens = exact_array(present_latent[:, np.newaxis])
    keys, values = (matmul(tokens, exact_array(matrix)) for matrix in (w_key, w_value))
    factor = Scale(Fraction(float(magnitude)) ** 2 * inverse_root(width).multiplier, inverse_root(width).root)
    attending = _attending(
        np.concatenate([query_content, query_rotary], axis=-1),
        joined(keys, _of_every_head(heads, present_key_rotary), axis=-1),
        past,
        factor if scale is None else scale,
        placing,
    )
    return {
        "output": lambda elements: means("output", attending.softmax, values, elements),
        **_of_every_query(attending),
        "output_latent": lambda elements: _latent_means(attending, heads, present_latent, elements),
        "present_latent": lambda _: present_latent,
        "present_key_rotary": lambda _: present_key_rotary,
    }


def absorbed_latent_attention(
    *,
    query_latent: NDArray[Any],
    query_rotary: NDArray[Any],
    latent: NDArray[Any],
    key_rotary: NDArray[Any],
    scale: float,
    **placing: Any,
) -> Outputs:
    """Evaluate ``absorbed_latent_attention`` (clauses ``absorbed.*``), whose arguments are those of latent attention.

    It gives ``output_latent`` (B, H, Sq, C), and ``weights``, ``scores``, ``logits`` and ``logsumexp`` as that does.
    """
    heads = query_latent.shape[1]
    attending = _attending(
        np.concatenate([query_latent, query_rotary], axis=-1),
        _of_every_head(heads, np.concatenate([latent, key_rotary], axis=-1)),
        0,
        scale,
        placing,
    )
    return {
        "output_latent": lambda elements: _latent_means(attending, heads, latent, elements),
        **_of_every_query(attending),
    }


def _attending(
    query: NDArray[Any], keys: ExactArray, past: int, scale: float | Scale, placing: dict[str, Any]
) -> Attending:
    """Compare joined queries and keys; what is not stated of the placing has its default."""
    stated: dict[str, Any] = {
        **dict.fromkeys(("mask", "key_lengths", "query_lengths")),
        "is_causal": False,
        "causal_alignment": "top_left",
        **placing,
    }
    return attend(query, keys, past, sinks=None, alibi_slopes=None, scale=scale, softcap=None, window=None, **stated)


def _of_every_head(heads: int, tokens: NDArray[Any]) -> ExactArray:
    """Give tokens (B, S, features) to every head: (B, H, S, features)."""
    return exact_array(tokens).rearranged(lambda moved: np.repeat(moved[:, np.newaxis], heads, axis=1))


def _latent_means(attending: Attending, heads: int, latents: NDArray[Any], elements: Elements) -> NDArray[np.float64]:
    return means("output_latent", attending.softmax, _of_every_head(heads, latents), elements)


def _of_every_query(attending: Attending) -> Outputs:
    """Give what there is for every query, or for every query and key."""
    return {
        "weights": lambda elements: attending.softmax.weights("weights", elements),
        "logsumexp": lambda elements: attending.softmax.logsumexp("logsumexp", elements),
        "scores": lambda elements: rounded_logits("scores", attending.scores, elements),
        "logits": lambda elements: np.where(
            attending.attended, rounded_logits("logits", attending.logits, elements), -np.inf
        ),
    }

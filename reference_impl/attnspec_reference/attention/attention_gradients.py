"""The phases of the backward pass of attention: what each gradient is the sum of.

Part of the gradients of scaled dot-product attention, whose page is
``spec/operations/attention/scaled_dot_product_attention_backward.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_reference.attention.attention_keys import is_boolean
from attnspec_reference.attention.phases import weigh_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_reference.precision import Array, Booleans

Shape = tuple[int, ...]


def check_of_queries(name: str, given: ArrayLike | None, shape: Shape) -> None:
    """Refuse what does not have the shape of the forward pass."""
    if given is not None and np.shape(given) != shape:
        raise ValueError(f"{name} has shape {np.shape(given)}; the forward pass gives {shape}.")


def shares_of_keys(logits: Array, logsumexp: Array, attendable: Booleans) -> Array:
    """Take the exponential of each logit's distance from the logsumexp of its row; excluded keys get 0."""
    return np.where(attendable, np.exp(logits - logsumexp[..., np.newaxis]), 0)


def sum_attended(products: Array, attendable: Booleans) -> Array:
    """Sum each row (B, Hq, Sq) over the keys that its query may attend to."""
    return np.where(attendable, products, 0).sum(axis=-1)


def gradient_of_softmax(weights: Array, grad_weights: Array, subtracted: Array, attendable: Booleans) -> Array:
    """Multiply each weight by how far its gradient lies above what is subtracted in its row; excluded keys get 0."""
    return np.where(attendable, weights * (grad_weights - subtracted[..., np.newaxis]), 0)


def gradient_of_cap(scores: Array, softcap: float | None, attendable: Booleans) -> Array | float:
    """Tell how much a capped score moves with its score; 1 without a cap, and where nothing is attended."""
    if not softcap:
        return 1.0
    return np.where(attendable, 1 - np.tanh(scores / softcap) ** 2, 1)


def sum_for_queries(grad_scores: Array, key: Array, attendable: Booleans) -> Array:
    """Sum the keys, each times the gradient of its score (B, Hq, Sq, E)."""
    return weigh_values(grad_scores, key, attendable)


def sum_for_keys(of_scores: Array, of_queries: Array, attendable: Booleans) -> Array:
    """Sum over the queries what belongs to each, times its number for the key (B, Hq, Sk, E or Ev)."""
    return weigh_values(of_scores.swapaxes(-1, -2), of_queries, attendable.swapaxes(-1, -2))


def sum_over_group(of_heads: Array, key_heads: int) -> Array:
    """Sum over the query heads that share a key head: (B, Hq, Sk, E) becomes (B, Hkv, Sk, E)."""
    batch, heads, *rest = of_heads.shape
    group = heads // max(key_heads, 1)
    return of_heads.reshape(batch, key_heads, group, *rest).sum(axis=2)


def gradient_of_sinks(sinks: Array | None, logsumexp: Array, subtracted: Array, answered: Booleans) -> Array | None:
    """Lower each sink by what is subtracted in the rows of its head, times its share of them (Hq); None without sinks.

    A sink weighs no value, so that its weight has the gradient 0. Rows that do not count add nothing.
    """
    if sinks is None:
        return None
    shares = np.exp(sinks[:, np.newaxis] - logsumexp)
    return -np.where(answered, shares * subtracted, 0).sum(axis=(0, 2))


def sum_to_mask(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
    """Sum over the axes along which the mask was repeated; None for a mask that adds no numbers."""
    if mask is None or is_boolean(mask):
        return None
    shape = np.shape(mask)
    missing = grad_logits.ndim - len(shape)
    repeated = [missing + axis for axis, length in enumerate(shape) if length == 1]
    return grad_logits.sum(axis=(*range(missing), *repeated)).reshape(shape)

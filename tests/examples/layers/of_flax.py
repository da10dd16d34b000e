"""A module of Flax NNX, whose kernels have an axis of heads."""

import jax
import jax.numpy as jnp
from flax import nnx


class MultiHeadAttention(nnx.Module):
    def __init__(self, num_heads: int, features: int, *, rngs: nnx.Rngs):
        self.num_heads = num_heads
        head_dim = features // num_heads
        self.query = nnx.LinearGeneral(features, (num_heads, head_dim), rngs=rngs)
        self.key = nnx.LinearGeneral(features, (num_heads, head_dim), rngs=rngs)
        self.value = nnx.LinearGeneral(features, (num_heads, head_dim), rngs=rngs)
        self.out = nnx.LinearGeneral((num_heads, head_dim), features, axis=(-2, -1), rngs=rngs)

    def __call__(self, x, mask=None):
        query, key, value = self.query(x), self.key(x), self.value(x)
        logits = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1]).astype(x.dtype)
        if mask is not None:
            logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
        weights = jax.nn.softmax(logits, axis=-1)
        return self.out(jnp.einsum("bhqk,bkhd->bqhd", weights, value))

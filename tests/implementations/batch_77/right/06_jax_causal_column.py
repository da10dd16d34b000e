"""JAX, one sequence, causal alone; ALiBi as slope times column. Arrays are padded to a few sizes, so that few programs
are compiled."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

layout = "hse"
dtypes = ("float32", "bfloat16")
conventions = {
    "causal_alignment": "top_left",
    "alibi_bias": "column",
    "masked_nonfinite": "propagates",
    "input_checks": "lenient",
}
without = ("empty_keys", "empty_queries", "empty_heads")


def _size(length, least):
    while least < length:
        least *= 4
    return least


def _pad(array, *least):
    sizes = [_size(n, m) for n, m in zip(array.shape, least)]
    padded = np.zeros(sizes, np.float32)
    padded[tuple(slice(0, n) for n in array.shape)] = array.astype(np.float32)
    return padded


@partial(jax.jit, static_argnames=("capped",))
def _attend(query, key, value, slopes, scale, softcap, keys, capped):
    logits = jnp.einsum("hqe,hke->hqk", query, key, precision=jax.lax.Precision.HIGHEST) * scale
    if capped:
        logits = jnp.tanh(logits / softcap) * softcap
    column = jnp.arange(key.shape[1])
    logits = logits + slopes[:, None, None] * column.astype(jnp.float32)
    may = (column[None, :] <= jnp.arange(query.shape[1])[:, None]) & (column < keys)
    logits = jnp.where(may, logits, -jnp.inf)
    weights = jax.nn.softmax(logits, axis=-1)
    output = jnp.einsum("hqk,hke->hqe", weights, value, precision=jax.lax.Precision.HIGHEST)
    return output, jax.nn.logsumexp(logits, axis=-1)


def scaled_dot_product_attention(query, key, value, is_causal=False, scale=None, softcap=None, alibi_slopes=None):
    if not is_causal:
        raise NotImplementedError("causal attention alone")
    heads, rows, width = query.shape
    groups, keys, _ = key.shape
    if key.shape[-1] != width:
        raise ValueError("widths differ")
    if value.shape[1] != keys:
        raise ValueError("lengths differ")
    if groups != value.shape[0] or groups == 0 or heads % groups:
        raise ValueError("heads do not fit")
    if scale is None:
        scale = width**-0.5
    share = heads // groups
    slopes = np.zeros(heads) if alibi_slopes is None else alibi_slopes
    output, logsumexp = _attend(
        _pad(query, 4, 16, 8),
        _pad(np.repeat(key, share, axis=0), 4, 16, 8),
        _pad(np.repeat(value, share, axis=0), 4, 16, 8),
        _pad(slopes, 4),
        np.float32(scale), np.float32(softcap or 1), np.int32(keys), bool(softcap),
    )
    return {
        "output": np.asarray(output)[:heads, :rows, : value.shape[-1]].astype(query.dtype),
        "logsumexp": np.asarray(logsumexp)[:heads, :rows],
    }

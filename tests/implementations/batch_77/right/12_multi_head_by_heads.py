"""One head after the other, each adding its rows of the output matrix; no key bias, and the value bias after the mean."""

import math

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None, b_value=None,
    b_output=None, mask=None, is_causal=False, scale=None,
):
    if not query.ndim == key.ndim == value.ndim == 3:
        raise ValueError("query, key and value have three axes")
    batch, rows, features = query.shape
    keys = key.shape[1]
    if num_heads < 1 or features % num_heads:
        raise ValueError("features do not divide into heads")
    if key.shape != (batch, keys, features) or value.shape != key.shape:
        raise ValueError("query, key and value do not fit together")
    if any(w.shape != (features, features) for w in (w_query, w_key, w_value, w_output)):
        raise ValueError("a weight matrix does not fit")
    if any(b is not None and b.shape != (features,) for b in (b_query, b_key, b_value, b_output)):
        raise ValueError("a bias does not fit")
    if mask is not None:
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != keys:
            raise ValueError("the mask does not fit")
        mask = np.broadcast_to(mask, (batch, num_heads, rows, keys))
    carried = np.float64 if query.dtype == np.float64 else np.float32
    width = features // num_heads
    factor = 1 / math.sqrt(width) if scale is None else scale
    output = np.zeros((batch, rows, features), carried)
    weights = np.zeros((batch, num_heads, rows, keys), carried)
    base = np.tri(rows, keys, dtype=bool) if is_causal else np.ones((rows, keys), bool)
    with np.errstate(all="ignore"):
        for h in range(num_heads):
            own = slice(h * width, (h + 1) * width)
            wq, wk, wv, wo = (
                w.astype(carried) for w in (w_query[:, own], w_key[:, own], w_value[:, own], w_output[own])
            )
            for b in range(batch):
                q = query[b].astype(carried) @ wq
                if b_query is not None:
                    q = q + b_query[own].astype(carried)
                k = key[b].astype(carried) @ wk
                v = value[b].astype(carried) @ wv
                x = q @ k.T * factor
                may = base
                if mask is not None:
                    here = mask[b, h]
                    if here.dtype == bool:
                        may = may & here
                    else:
                        may = may & (here != -np.inf)
                        x = x + np.where(may, here, 0).astype(carried)
                some = may.any(axis=1, keepdims=True)
                x = np.where(may, x, carried(-np.inf))
                e = np.where(may, np.exp(x - np.where(some, x.max(axis=1, keepdims=True, initial=-np.inf), 0)), 0)
                w = e / np.where(some, e.sum(axis=1, keepdims=True), 1)
                weights[b, h] = w
                if np.isfinite(v).all():
                    mixed = w @ v
                else:
                    mixed = np.where(may[..., None], w[..., None] * v, 0).sum(axis=1)
                if b_value is not None:
                    mixed = np.where(some, mixed + b_value[own].astype(carried), 0)
                output[b] += mixed @ wo
        if b_output is not None:
            output += b_output.astype(carried)
        return output.astype(query.dtype), weights

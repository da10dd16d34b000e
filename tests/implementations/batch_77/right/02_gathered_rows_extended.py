"""One query at a time: gather the keys that it may attend to, and compute in extended precision."""

import math

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"fully_masked_row": "uniform", "no_keys": "nan", "half_precision_grade": "fused"}

WIDE = np.longdouble
NAMED = {
    "float64": np.dtype(np.float64), "float32": np.dtype(np.float32), "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def _wide(array):
    return array.astype(np.float64).astype(WIDE)


def _scaled(array, scale, batch, heads, what):
    array = _wide(array)
    if scale is None:
        return array
    scale = np.asarray(scale)
    if scale.ndim > 2 or any(a not in (1, b) for a, b in zip(scale.shape[::-1], (heads, batch))):
        raise ValueError("the scale of the " + what + " does not fit")
    return array * np.broadcast_to(_wide(scale), (batch, heads))[:, :, None, None]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    tensors = [query, key, value] + [t for t in (past_key, past_value) if t is not None]
    if any(t.ndim != 4 for t in tensors):
        raise ValueError("four axes are needed")
    if any(t.shape[0] != query.shape[0] for t in tensors):
        raise ValueError("batch sizes differ")
    if any(t.shape[1] != key.shape[1] for t in tensors[1:]):
        raise ValueError("numbers of key and value heads differ")
    batch, heads, rows, width = query.shape
    groups = key.shape[1]
    if heads and (groups == 0 or heads % groups):
        raise ValueError("query heads are no multiple of key heads")
    if key.shape[3] != width:
        raise ValueError("widths differ")
    if key.shape[2] != value.shape[2]:
        raise ValueError("numbers of keys and values differ")
    past = 0
    if past_key is not None or past_value is not None:
        if past_key is None or past_value is None or past_key.shape[2] != past_value.shape[2]:
            raise ValueError("past keys and values differ")
        if past_key.shape[3] != width or past_value.shape[3] != value.shape[3]:
            raise ValueError("widths differ")
        past = past_key.shape[2]
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, rows)):
        if lengths is not None:
            if np.shape(lengths) != (batch,):
                raise ValueError("lengths for another batch")
            if any(not 0 <= int(x) <= most for x in lengths):
                raise ValueError("a length is not possible")
    keys = past + key.shape[2]
    if mask is not None:
        if mask.ndim not in (2, 3, 4) or mask.shape[-1] != keys:
            raise ValueError("the mask does not fit")
        mask = np.broadcast_to(mask, (batch, heads, rows, keys))  # raises ValueError, too

    present = {}
    quantized = query_scale is not None or key_scale is not None or value_scale is not None
    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    if not quantized:
        present = {"present_key": key.copy(), "present_value": value.copy()}
    dtype = query.dtype if query_scale is None else NAMED[str(output_dtype or "float32")]

    k = _scaled(key, key_scale, batch, groups, "keys")
    v = _scaled(value, value_scale, batch, groups, "values")
    q = _wide(query)
    if query_scale is not None:
        each = _scaled(np.ones((batch, groups, 1, 1)), query_scale, batch, groups, "queries")
        q = q * np.repeat(each, heads // groups if groups else 0, axis=1)
    factor = WIDE(1) / np.sqrt(WIDE(width)) if scale is None else WIDE(scale)
    left, right = (None, None) if window is None else window

    output = np.zeros((batch, heads, rows, v.shape[3]), WIDE)
    weights = np.zeros((batch, heads, rows, keys), WIDE)
    scores = np.zeros_like(weights)
    logits = np.full_like(weights, -np.inf)
    logsumexp = np.full((batch, heads, rows), -np.inf, WIDE)
    every = np.arange(keys)
    with np.errstate(all="ignore"):
        for b in range(batch):
            count = keys if key_lengths is None else int(key_lengths[b])
            asked = rows if query_lengths is None else int(query_lengths[b])
            first = past if causal_alignment == "top_left" else count - asked
            for h in range(heads):
                g = h * groups // heads
                for i in range(rows):
                    s = scores[b, h, i] = (k[b, g] @ q[b, h, i]) * factor
                    if i >= asked:
                        output[b, h, i] = np.nan  # does not count
                        continue
                    p = i + first
                    may = every < count
                    if is_causal:
                        may = may & (every <= p)
                    if left is not None:
                        may = may & (every >= p - left)
                    if right is not None:
                        may = may & (every <= p + right)
                    if mask is not None:
                        may = may & (mask[b, h, i] if mask.dtype == bool else mask[b, h, i] != -np.inf)
                    chosen = np.flatnonzero(may)
                    if len(chosen) == 0:
                        if sinks is not None:
                            logsumexp[b, h, i] = _wide(sinks[h])
                        elif keys:
                            weights[b, h, i] = WIDE(1) / keys
                            output[b, h, i] = v[b, g].sum(axis=0) / keys
                        else:
                            output[b, h, i] = np.nan
                        continue
                    x = s[chosen]
                    if softcap:
                        x = np.tanh(x / softcap) * softcap
                    if alibi_slopes is not None:
                        x = x - _wide(alibi_slopes[h]) * np.abs(p - chosen)
                    if mask is not None and mask.dtype != bool:
                        x = x + _wide(mask[b, h, i, chosen])
                    logits[b, h, i, chosen] = x
                    top = x.max() if sinks is None else np.maximum(x.max(), _wide(sinks[h]))
                    e = np.exp(x - top)
                    total = e.sum() if sinks is None else e.sum() + np.exp(_wide(sinks[h]) - top)
                    weights[b, h, i, chosen] = e / total
                    logsumexp[b, h, i] = top + np.log(total)
                    output[b, h, i] = (e / total) @ v[b, g, chosen]
        return {
            "output": output.astype(np.float64).astype(dtype) if dtype.itemsize != 4 else output.astype(np.float32),
            "weights": weights.astype(np.float64),
            "logsumexp": logsumexp.astype(np.float64),
            "scores": scores.astype(np.float64),
            "logits": logits.astype(np.float64),
            **present,
        }

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES
TILE = 5  # keys that are looked at together, from the last ones on


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    """An online softmax in powers of two over tiles of keys; the output projection is a sum over heads."""
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     (b_query, b_key, b_value, b_output), mask)
    heads, dtype = int(num_heads), query.dtype
    q = base.cut(base.project(query, w_query, b_query, dtype), heads)
    k = base.cut(base.project(key, w_key, None, dtype), heads)  # a key bias changes nothing
    v = base.cut(base.project(value, w_value, b_value, dtype), heads)
    kind = q.dtype.type
    shape = (q.shape[0], heads, q.shape[2], k.shape[2])
    allowed, added = base.allowed_and_bias(mask, is_causal, shape, dtype)
    scale = base.the_scale(scale, q.shape[-1], dtype)
    log2e = kind(1.4426950408889634)
    top = np.full(shape[:3] + (1,), -np.inf, q.dtype)
    total = np.zeros_like(top)
    mixed = np.zeros(q.shape, q.dtype)
    logits = np.full(shape, -np.inf, q.dtype)
    with np.errstate(all="ignore"):
        for stop in range(shape[3], 0, -TILE):
            part = slice(max(stop - TILE, 0), stop)
            scores = base.dots(q, k[:, :, part]) * scale
            bias = None if added is None else np.broadcast_to(added, shape)[..., part]
            logits[..., part] = base.logits_of(scores, allowed[..., part], bias) * log2e
            new = np.maximum(top, logits[..., part].max(axis=-1, keepdims=True))
            safe = np.where(np.isneginf(new), 0, new).astype(q.dtype)
            factor = np.exp2(top - safe)
            exponentials = np.exp2(logits[..., part] - safe)
            total = total * factor + exponentials.sum(axis=-1, keepdims=True)
            mixed = mixed * factor + base.weigh(exponentials, v[:, :, part], allowed[..., part])
            top = new
        safe = np.where(np.isneginf(top), 0, top).astype(q.dtype)
        divisor = np.where(total == 0, 1, total)
        mixed = (mixed / divisor).astype(q.dtype)
        weights = np.exp2(logits - safe) / divisor
        matrix = base.widen(w_output, dtype).reshape(heads, q.shape[-1], query.shape[2])
        output = np.zeros(query.shape, q.dtype)
        for h in reversed(range(heads)):
            output += mixed[:, h] @ matrix[h]
        if b_output is not None:
            output += base.widen(b_output, dtype)
    return {"output": base.rounded(output, dtype), "weights": base.rounded(weights, dtype)}

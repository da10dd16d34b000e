import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 32


def tiled_weights(logits, allowed):
    with np.errstate(all="ignore"):
        logits = np.where(allowed, logits, -np.inf)
        weights = np.zeros(logits.shape)
        top = np.full(logits.shape[:-1] + (1,), -np.inf)
        total = np.zeros(top.shape)
        for j in range(0, logits.shape[-1], TILE):
            part = logits[..., j : j + TILE]
            new = np.maximum(top, part.max(axis=-1, keepdims=True))
            safe = np.where(new == -np.inf, 0, new)
            parts = np.where(allowed[..., j : j + TILE], np.exp(part - safe), 0)
            total = total * np.exp(np.where(top == -np.inf, -np.inf, top - safe)) + parts.sum(axis=-1, keepdims=True)
            weights[..., j : j + TILE] = parts
            top = new
        return weights / np.where(total == 0, 1, total)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    q = base.split(base.project(query, w_query, b_query), num_heads)
    k = base.split(base.project(key, w_key, b_key), num_heads)
    v = base.split(base.project(value, w_value, b_value), num_heads)
    shape = (q.shape[0], num_heads, q.shape[2], k.shape[2])
    allowed, bias = base.exclusions(mask, is_causal, shape)
    scale = base.default_scale(q.shape[-1]) if scale is None else float(scale)
    logits = base.scores_of(q, k, scale) + bias
    weights = base.masked_softmax(logits, allowed)
    output = base.project(base.combine(base.mix(weights, v, allowed)), w_output, b_output)
    return base.finish(query.dtype, output=output, weights=tiled_weights(logits, allowed))

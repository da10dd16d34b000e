"""Right: online softmax over tiles of five keys, from the last one to the first, in powers of two; weights in a second pass."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
TILE = 5
LN2 = float(np.log(2))


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    q = base.split(base.project(query, w_query, b_query), num_heads)
    k = base.split(base.project(key, w_key, b_key), num_heads)
    v = base.split(base.project(value, w_value, b_value), num_heads)
    shape = (q.shape[0], num_heads, q.shape[2], k.shape[2])
    scale = base.default_scale(q.shape[-1]) if scale is None else float(scale)
    allowed, bias = base.exclusions(mask, is_causal, shape)
    top = np.full(shape[:3] + (1,), -np.inf)
    total = np.zeros(top.shape)
    heads = np.zeros(q.shape)
    kept = np.full(shape, -np.inf)
    with np.errstate(all="ignore"):
        for start in reversed(range(0, shape[3], TILE)):
            cut = slice(start, start + TILE)
            seen = allowed[..., cut]
            bits = np.where(seen, base.scores_of(q, k[:, :, cut], scale) + bias[..., cut], -np.inf) / LN2
            kept[..., cut] = bits
            new = np.maximum(top, bits.max(axis=-1, keepdims=True))
            safe = np.where(new == -np.inf, 0, new)
            parts = np.where(seen, np.exp2(bits - safe), 0)
            keep = np.where(top == -np.inf, 0, np.exp2(top - safe))
            total = np.where(keep == 0, 0, total * keep) + parts.sum(axis=-1, keepdims=True)
            heads = np.where(keep == 0, 0, heads * keep) + base.mix(parts, v[:, :, cut], seen)
            top = new
        divisor = np.where(total == 0, 1, total)
        weights = np.where(allowed, np.exp2(kept - np.where(top == -np.inf, 0, top)), 0) / divisor
        heads = heads / divisor
    return base.finish(query.dtype, output=base.project(base.combine(heads), w_output, b_output), weights=weights)

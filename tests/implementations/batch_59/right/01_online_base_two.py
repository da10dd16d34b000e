import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

LOG2E = 1.4426950408889634
TILE = 5


@base.quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    q = base.cut(base.project(query, w_query, b_query, p.wd), p.H)
    k = base.cut(base.project(key, w_key, b_key, p.wd), p.H)
    v = base.cut(base.project(value, w_value, b_value, p.wd), p.H)
    allowed, bias = base.masks(mask, is_causal, p)
    logits = base.logits_of(q, k, p.scale, allowed, bias) * p.wd.type(LOG2E)
    top = np.full((p.B, p.H, p.Sq, 1), -np.inf, p.wd)
    total = np.zeros((p.B, p.H, p.Sq, 1), p.wd)
    heads = np.zeros((p.B, p.H, p.Sq, p.E), p.wd)
    for stop in range(p.Sk, 0, -TILE):  # from the last keys to the first
        these = slice(max(0, stop - TILE), stop)
        higher = np.maximum(top, logits[..., these].max(axis=-1, keepdims=True))
        anchor = np.where(np.isneginf(higher), 0, higher)
        powers = np.where(allowed[..., these], np.exp2(logits[..., these] - anchor), 0).astype(p.wd)
        shrink = np.where(np.isneginf(top), 0, np.exp2(top - anchor)).astype(p.wd)
        total = total * shrink + powers.sum(axis=-1, keepdims=True)
        heads = heads * shrink + base.weigh(powers, v[:, :, these], allowed[..., these])
        top = higher
    alive = allowed.any(axis=-1, keepdims=True)
    divisor = np.where(alive, total, 1)
    anchor = np.where(np.isneginf(top), 0, top)
    weights = np.where(allowed, np.exp2(logits - anchor) / divisor, 0)
    heads = np.where(alive, heads / divisor, 0).astype(p.wd)
    output = base.project(base.join(heads), w_output, b_output, p.wd)
    return base.rounded(p.dtype, output=output, weights=weights)

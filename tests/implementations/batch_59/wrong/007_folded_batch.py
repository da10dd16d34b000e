import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)

    def fold(x, w, b):
        return base.cut(base.project(x, w, b, p.wd), p.H).reshape(p.B * p.H, x.shape[1], p.E)

    q, k, v = fold(query, w_query, b_query), fold(key, w_key, b_key), fold(value, w_value, b_value)
    allowed, bias = base.masks(None, is_causal, p)
    allowed = allowed.reshape(p.B * p.H, p.Sq, p.Sk)
    if mask is not None:
        if mask.ndim == 4 and mask.shape[1] == 1 and mask.shape[0] == p.B:
            folded = np.tile(mask[:, 0], (p.H, 1, 1))
        else:
            shape = (p.B, p.H) + mask.shape[-2:]
            folded = np.broadcast_to(mask, shape).reshape((p.B * p.H,) + mask.shape[-2:])
        if mask.dtype == bool:
            allowed = allowed & folded
        else:
            folded = folded.astype(p.wd)
            allowed = allowed & ~np.isneginf(folded)
            bias = np.where(np.isneginf(folded), 0, folded).astype(p.wd)
    weights = base.shares(base.logits_of(q, k, p.scale, allowed, bias), allowed)
    heads = base.weigh(weights, v, allowed).reshape(p.B, p.H, p.Sq, p.E)
    output = base.project(base.join(heads), w_output, b_output, p.wd)
    return base.rounded(p.dtype, output=output, weights=weights.reshape(p.B, p.H, p.Sq, p.Sk))

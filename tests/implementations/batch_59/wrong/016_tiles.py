import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16


@base.quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    q = base.cut(base.project(query, w_query, b_query, p.wd), p.H)
    k = base.cut(base.project(key, w_key, b_key, p.wd), p.H)
    v = base.cut(base.project(value, w_value, b_value, p.wd), p.H)
    allowed, bias = base.masks(mask, is_causal, p)
    heads = np.zeros((p.B, p.H, p.Sq, p.E), p.wd)
    weights = np.zeros((p.B, p.H, p.Sq, p.Sk), p.wd)
    for start in range(0, p.Sq, TILE):
        stop = min(start + TILE, p.Sq)
        end = p.Sk
        if is_causal:
            # tiles of keys behind the diagonal hold nothing for these queries
            end = min(p.Sk, TILE * max(1, stop // TILE))
        these = allowed[:, :, start:stop, :end]
        added = None
        if bias is not None:
            added = np.broadcast_to(bias, allowed.shape)[:, :, start:stop, :end]
        part = base.shares(base.logits_of(q[:, :, start:stop], k[:, :, :end], p.scale, these, added), these)
        weights[:, :, start:stop, :end] = part
        heads[:, :, start:stop] = base.weigh(part, v[:, :, :end], these)
    output = base.project(base.join(heads), w_output, b_output, p.wd)
    return base.rounded(p.dtype, output=output, weights=weights)

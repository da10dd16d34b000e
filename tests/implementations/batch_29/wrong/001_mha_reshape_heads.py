import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def attend(q, k, v, mask, is_causal, scale):
    """(B, H, S, d) each, in the wide dtype."""
    B, H, Sq, d = q.shape
    Sk = k.shape[2]
    ok = np.ones((B, H, Sq, Sk), bool)
    if is_causal:
        ok &= np.tri(Sq, Sk, dtype=bool)
    bias = None
    if mask is not None:
        if mask.dtype == bool:
            ok &= mask
        else:
            bias = mask.astype(q.dtype)
            ok &= ~np.isneginf(bias)
    out, weights, *_ = base.core(q, k, v, ok, bias, d ** -0.5 if scale is None else scale)
    return out, weights


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    B, Sq, Sk, D, d = base.check_mha(query, key, value, w_query, w_key, w_value, w_output,
                                     (b_query, b_key, b_value, b_output), mask, num_heads)
    ct = base.wide(query.dtype)
    q = base.project(query, w_query, b_query, ct).reshape(B, num_heads, Sq, d)
    k = base.project(key, w_key, b_key, ct).reshape(B, num_heads, Sk, d)
    v = base.project(value, w_value, b_value, ct).reshape(B, num_heads, Sk, d)
    out, weights = attend(q, k, v, mask, is_causal, scale)
    out = base.project(out.reshape(B, Sq, D), w_output, b_output, ct)
    return {"output": out.astype(query.dtype), "weights": weights.astype(query.dtype)}

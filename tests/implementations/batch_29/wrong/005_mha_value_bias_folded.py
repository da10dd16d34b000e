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
    q = base.split(base.project(query, w_query, b_query, ct), num_heads)
    k = base.split(base.project(key, w_key, b_key, ct), num_heads)
    v = base.split(base.project(value, w_value, None, ct), num_heads)
    out, weights = attend(q, k, v, mask, is_causal, scale)
    # weights sum to one, so that the bias of the values goes through them and joins that of the output
    w_o = w_output.astype(ct)
    bias = np.zeros(D, ct)
    if b_value is not None:
        bias += b_value.astype(ct) @ w_o
    if b_output is not None:
        bias += b_output.astype(ct)
    out = base.combine(out) @ w_o + bias
    return {"output": out.astype(query.dtype), "weights": weights.astype(query.dtype)}

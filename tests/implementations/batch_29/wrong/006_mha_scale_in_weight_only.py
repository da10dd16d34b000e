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
    factor = ct.type(d ** -0.5 if scale is None else scale)
    w_q = w_query.astype(ct) * factor  # the scale is a part of the weights: nothing is left to do for each score
    q = np.tensordot(query.astype(ct), w_q, axes=(2, 0))
    k = np.tensordot(key.astype(ct), w_key.astype(ct), axes=(2, 0))
    v = np.tensordot(value.astype(ct), w_value.astype(ct), axes=(2, 0))
    q, k, v = (x if b is None else x + b.astype(ct) for x, b in ((q, b_query), (k, b_key), (v, b_value)))
    out, weights = attend(*(base.split(x, num_heads) for x in (q, k, v)), mask, is_causal, 1)
    out = np.tensordot(base.combine(out), w_output.astype(ct), axes=(2, 0))
    out = out if b_output is None else out + b_output.astype(ct)
    return {"output": out.astype(query.dtype), "weights": weights.astype(query.dtype)}

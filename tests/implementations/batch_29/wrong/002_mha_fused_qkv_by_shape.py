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
    def cut(x):
        return x.reshape(B, -1, num_heads, d).transpose(0, 2, 1, 3)

    zeros = np.zeros(D, ct)
    w = np.concatenate([w_query, w_key, w_value], axis=1).astype(ct)
    b = np.concatenate([zeros if x is None else x.astype(ct) for x in (b_query, b_key, b_value)])
    if query.shape == key.shape == value.shape:  # self-attention: one product
        q, k, v = (cut(x) for x in np.split(query.astype(ct) @ w + b, 3, axis=-1))
    else:
        q = cut(query.astype(ct) @ w[:, :D] + b[:D])
        k = cut(key.astype(ct) @ w[:, D:2 * D] + b[D:2 * D])
        v = cut(value.astype(ct) @ w[:, 2 * D:] + b[2 * D:])
    out, weights = attend(q, k, v, mask, is_causal, scale)
    out = out.transpose(0, 2, 1, 3).reshape(B, Sq, D) @ w_output.astype(ct)
    if b_output is not None:
        out = out + b_output.astype(ct)
    return {"output": out.astype(query.dtype), "weights": weights.astype(query.dtype)}

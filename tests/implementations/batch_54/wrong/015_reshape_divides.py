import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def _heads(x, heads):
    batch, tokens, features = x.shape
    if x.size == 0:
        return np.zeros((batch, heads, tokens, features // heads), x.dtype)
    return x.reshape(-1, tokens, heads, features // heads).transpose(0, 2, 1, 3)  # raises where it does not divide


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    a = base.check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                              b_query, b_key, b_value, b_output, mask, is_causal, scale, divisible=False)
    with base.quiet():
        q = _heads(base.project(query, w_query, b_query, a.work), a.H)
        k = _heads(base.project(key, w_key, b_key, a.work), a.H)
        v = _heads(base.project(value, w_value, b_value, a.work), a.H)
        allowed, bias = base.permitted(mask, is_causal, len(q), a.H, a.Sq, a.Sk, a.work)
        scores = q @ k.swapaxes(-1, -2) * a.scale
        weights = base.softmax(scores, allowed, bias)
        heads = base.weigh(weights, v, allowed)
        joined = heads.transpose(0, 2, 1, 3).reshape(a.B, a.Sq, a.D)
        output = base.project(joined, w_output, b_output, a.work)
        return {"output": output.astype(a.dtype), "weights": weights.astype(a.dtype)}

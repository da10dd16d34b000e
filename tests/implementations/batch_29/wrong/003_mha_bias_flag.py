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


class Linear:
    def __init__(self, weight, bias, use_bias, ct):
        self.weight = weight.astype(ct)
        self.bias = bias.astype(ct) if use_bias and bias is not None else None

    def __call__(self, x):
        y = np.einsum("btd,de->bte", x, self.weight)
        return y if self.bias is None else y + self.bias


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    B, Sq, Sk, D, d = base.check_mha(query, key, value, w_query, w_key, w_value, w_output,
                                     (b_query, b_key, b_value, b_output), mask, num_heads)
    ct = base.wide(query.dtype)
    use_bias = b_query is not None  # a module has its biases or has them not
    to_q = Linear(w_query, b_query, use_bias, ct)
    to_k = Linear(w_key, b_key, use_bias, ct)
    to_v = Linear(w_value, b_value, use_bias, ct)
    to_out = Linear(w_output, b_output, use_bias, ct)
    q, k, v = (base.split(f(x.astype(ct)), num_heads) for f, x in ((to_q, query), (to_k, key), (to_v, value)))
    out, weights = attend(q, k, v, mask, is_causal, scale)
    return {"output": to_out(base.combine(out)).astype(query.dtype), "weights": weights.astype(query.dtype)}

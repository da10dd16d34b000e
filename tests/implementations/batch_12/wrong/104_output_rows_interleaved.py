import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_multi

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}



def masked_softmax(s, ok):
    s = np.where(ok, s, s.dtype.type(-np.inf))
    m = s.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isneginf(m), s.dtype.type(0), m))
    d = e.sum(-1, keepdims=True)
    return e / np.where(d == 0, s.dtype.type(1), d)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    B, Sq, D = query.shape
    Sk, H = key.shape[1], num_heads
    E = D // H

    def heads(x, w, b):
        y = np.einsum("bsd,dhe->bhse", x, w.reshape(D, H, E))
        return y if b is None else y + b.reshape(H, 1, E)

    q, k, v = heads(query, w_query, b_query), heads(key, w_key, b_key), heads(value, w_value, b_value)
    scores = np.einsum("bhqe,bhke->bhqk", q, k) * float(E ** -0.5 if scale is None else scale)
    ok = np.ones((B, H, Sq, Sk), bool)
    if mask is not None:
        if mask.dtype == bool:
            ok &= mask
        else:
            ok &= mask != -np.inf
            scores = scores + mask
    if is_causal:
        ok &= np.arange(Sk) <= np.arange(Sq)[:, None]
    weights = masked_softmax(scores, ok)
    mixed = np.einsum("bhqk,bhke->bqhe", weights, v)
    output = np.einsum("bqeh,hed->bqd", mixed.swapaxes(2, 3), w_output.reshape(E, H, D).swapaxes(0, 1))
    if b_output is not None:
        output = output + b_output
    return {"output": output, "weights": weights}

import math
import numpy as np


def _fold(x, heads):
    b, s, d = x.shape
    return x.reshape(b, s, heads, d // heads).transpose(0, 2, 1, 3).reshape(b * heads, s, d // heads)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    if not query.ndim == key.ndim == value.ndim == 3:
        raise ValueError("rank")
    if query.shape[2] % num_heads:
        raise ValueError("num_heads")
    zero = query.dtype.type(0)
    q = _fold(query @ w_query + (zero if b_query is None else b_query), num_heads)
    k = _fold(key @ w_key + (zero if b_key is None else b_key), num_heads)
    v = _fold(value @ w_value + (zero if b_value is None else b_value), num_heads)
    B, (rows, Sq, d), Sk = query.shape[0], q.shape, k.shape[1]
    s = np.matmul(q, k.transpose(0, 2, 1)) * query.dtype.type(1 / math.sqrt(d) if scale is None else scale)
    ok = np.ones(s.shape, bool)
    if mask is not None:
        if mask.ndim == 4 and mask.shape[1] == 1:
            own = np.tile(np.broadcast_to(mask[:, 0], (mask.shape[0], Sq, Sk)), (num_heads if mask.shape[0] > 1 else rows, 1, 1))
        else:
            own = np.broadcast_to(mask, (B, num_heads, Sq, Sk)).reshape(s.shape)
        if own.dtype == np.bool_:
            ok &= own
        else:
            s, ok = s + own, ok & (own != -np.inf)
    if is_causal:
        ok &= np.arange(Sk) <= np.arange(Sq)[:, None]
    s = np.where(ok, s, -np.inf)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isinf(top), 0, top)).astype(query.dtype)
    z = e.sum(-1, keepdims=True)
    w = e / np.where(z == 0, 1, z)
    o = (w @ v).reshape(B, num_heads, Sq, d).transpose(0, 2, 1, 3).reshape(B, Sq, num_heads * d)
    o = o @ w_output
    return o if b_output is None else o + b_output

dtypes = ("float64", "float32")

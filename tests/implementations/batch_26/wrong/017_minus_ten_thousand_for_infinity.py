import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 32
LOW = -1e4  # stands for minus infinity

def attend(t):
    """Online softmax over tiles of keys."""
    S, K = t.ok.shape
    f = t.dtype.type
    m = np.full(S, LOW, t.dtype)
    l, o = np.zeros(S, t.dtype), np.zeros((S, t.v.shape[1]), t.dtype)
    if t.sink is not None:
        m, l = np.maximum(m, t.sink), l + np.exp(t.sink - np.maximum(f(LOW), t.sink))
    for start in range(0, K, TILE):
        c = slice(start, min(start + TILE, K))
        if not t.ok[:, c].any():
            continue
        x = base.block(t, slice(None), c)[1]
        top = np.maximum(m, x.max(axis=1))
        safe = np.where(top == -np.inf, f(0), top)
        p = np.where(t.ok[:, c], np.exp(x - safe[:, None]), f(0))
        old = np.exp(m - safe)
        l = l * old + p.sum(axis=1)
        o = o * old[:, None] + base.weigh(p, t.ok[:, c], t.v[c])
        m = top
    dead = l == 0
    one = np.where(dead, f(1), l)
    return {"output": o / one[:, None], "logsumexp": np.where(dead, -np.inf, m + np.log(one))}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    return base.dense(a, attend)

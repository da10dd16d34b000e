import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

from functools import reduce

SPLIT = 8


def split(t, c):
    ok, x = t.ok[:, c], base.block(t, slice(None), c)[1]
    none = ~ok.any(axis=1)
    m = np.where(none, t.dtype.type(0), x.max(axis=1))
    e = np.where(ok, np.exp(x - m[:, None]), t.dtype.type(0))
    l = e.sum(axis=1)
    o = base.weigh(e, ok, t.v[c]) / np.where(none, t.dtype.type(1), l)[:, None]
    return o, np.where(none, -np.inf, m + np.log(np.where(none, t.dtype.type(1), l))).astype(t.dtype)


def merge(x, y):
    (a, la), (b, lb) = x, y
    m = np.maximum(la, lb)
    m = np.where(m == -np.inf, 0, m).astype(a.dtype)
    wa, wb = np.exp(la - m), np.exp(lb - m)
    s = wa + wb
    one = np.where(s == 0, 1, s).astype(a.dtype)
    out = np.where((la == -np.inf)[:, None], 0, a * (wa / one)[:, None]) + np.where((lb == -np.inf)[:, None], 0, b * (wb / one)[:, None])
    return out.astype(a.dtype), np.where(s == 0, -np.inf, np.log(one) + m).astype(a.dtype)


def attend(t):
    S, K = t.ok.shape
    states = [split(t, slice(i, min(i + SPLIT, K))) for i in range(0, K, SPLIT)]
    empty = np.zeros((S, t.v.shape[1]), t.dtype)
    states.append((empty, np.full(S, -np.inf if t.sink is None else t.sink, t.dtype)))
    o, lse = reduce(merge, states)
    return {"output": o, "logsumexp": lse}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    return base.dense(a, attend)

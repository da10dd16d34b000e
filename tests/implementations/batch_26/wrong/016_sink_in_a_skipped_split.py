import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 16


def part(t, c, sink):
    x = base.block(t, slice(None), c)[1]
    m = x.max(axis=1)
    if sink is not None:
        m = np.maximum(m, sink)
    m = np.where(m == -np.inf, t.dtype.type(0), m)
    e = np.where(t.ok[:, c], np.exp(x - m[:, None]), t.dtype.type(0))
    l = e.sum(axis=1) + (0 if sink is None else np.exp(sink - m))
    return m, l.astype(t.dtype), base.weigh(e, t.ok[:, c], t.v[c])


def attend(t):
    S, K = t.ok.shape
    parts = []
    for n, start in enumerate(range(0, K, SPLIT)):
        c = slice(start, min(start + SPLIT, K))
        if not t.ok[:, c].any():
            continue  # a split without keys costs nothing
        parts.append(part(t, c, t.sink if n == 0 else None))
    if not parts:
        lse = np.full(S, -np.inf if t.sink is None else t.sink, t.dtype)
        return {"output": np.zeros((S, t.v.shape[1]), t.dtype), "logsumexp": lse}
    ms, ls, os = (np.stack(x) for x in zip(*parts))
    m = np.where(ls == 0, -np.inf, ms).max(axis=0).astype(t.dtype)
    m = np.where(np.isnan(ls).any(axis=0), np.nan, m)
    m = np.where(m == -np.inf, t.dtype.type(0), m).astype(t.dtype)
    w = np.where(ls == 0, t.dtype.type(0), np.exp(ms - m))
    l = (ls * w).sum(axis=0)
    o = (os * w[..., None]).sum(axis=0)
    dead = l == 0
    one = np.where(dead, t.dtype.type(1), l)
    lse = np.where(dead, -np.inf if t.sink is None else t.sink, m + np.log(one))
    return {"output": o / one[:, None], "logsumexp": lse}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    return base.dense(a, attend)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16
LAZY = 6.0


def attend(t):
    """The accumulator is rescaled only where the maximum has grown by much."""
    S, K = t.ok.shape
    f = t.dtype.type
    sink = f(-np.inf) if t.sink is None else t.sink
    seen = np.full(S, sink, t.dtype)  # the largest logit so far
    ref = seen.copy()  # what the accumulator is relative to
    l, o = np.where(seen == -np.inf, f(0), f(1)), np.zeros((S, t.v.shape[1]), t.dtype)
    for start in range(0, K, TILE):
        c = slice(start, min(start + TILE, K))
        x = base.block(t, slice(None), c)[1]
        seen = np.maximum(seen, x.max(axis=1))
        grow = ~(seen - ref <= LAZY) & (seen != -np.inf)
        new = np.where(grow, seen, ref)
        safe = np.where(new == -np.inf, f(0), new)
        old = np.where(grow, np.exp(ref - safe), f(1))
        p = np.where(t.ok[:, c], np.exp(x - safe[:, None]), f(0))
        l, o = l * old + p.sum(axis=1), o * old[:, None] + base.weigh(p, t.ok[:, c], t.v[c])
        ref = new
    dead = l == 0
    one = np.where(dead, f(1), l)
    return {"output": o / one[:, None], "logsumexp": np.where(dead, -np.inf, seen + np.log(one))}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    return base.dense(a, attend)

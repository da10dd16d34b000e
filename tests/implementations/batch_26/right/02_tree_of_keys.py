import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class State:
    """A running maximum, the sum relative to it, and the weighed values, for every query of a head."""

    def __init__(self, m, l, o):
        self.m, self.l, self.o = m, l, o

    def __add__(self, other):
        top = np.maximum(self.m, other.m)
        safe = np.where(top == -np.inf, 0, top).astype(self.l.dtype)
        x, y = np.exp(self.m - safe), np.exp(other.m - safe)
        return State(top, self.l * x + other.l * y, self.o * x[:, None] + other.o * y[:, None])


def leaf(t, j):
    x = base.block(t, slice(None), slice(j, j + 1))[1][:, 0]
    ok = t.ok[:, j]
    e = np.where(ok, np.where(x == -np.inf, 0, np.where(np.isfinite(x), 1, x - x)), 0).astype(t.dtype)
    return State(x, e, np.where(ok[:, None], e[:, None] * t.v[j], 0).astype(t.dtype))


def tree(t, start, end):
    if end - start == 1:
        return leaf(t, start)
    middle = (start + end) // 2
    return tree(t, middle, end) + tree(t, start, middle)


def attend(t):
    S = len(t.q)
    sink = np.full(S, -np.inf if t.sink is None else t.sink, t.dtype)
    s = State(sink, (sink != -np.inf).astype(t.dtype), np.zeros((S, t.v.shape[1]), t.dtype))
    if len(t.k):
        s = s + tree(t, 0, len(t.k))
    dead = s.l == 0
    one = np.where(dead, 1, s.l).astype(t.dtype)
    return {"output": s.o / one[:, None], "logsumexp": np.where(dead, -np.inf, s.m + np.log(one))}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    return base.dense(a, attend)

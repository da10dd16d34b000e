"""Tokens before heads. Keys are halved until two are left; halves are merged by their maxima."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
layout = "bshe"


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    arguments = dict(locals())
    for name in ("query", "key", "value", "past_key", "past_value"):
        array = arguments[name]
        if array is not None and array.ndim == 4:
            arguments[name] = array.transpose(0, 2, 1, 3)
    c = base.prepare(**arguments)
    output = np.zeros((c.B, c.Sq, c.H, c.Ev), c.work)

    def part(b, h, begin, end):
        """Mean of the values, maximum and sum of keys begin to end."""
        if end - begin > 2:
            middle = (begin + end) // 2
            return merge(part(b, h, begin, middle), part(b, h, middle, end))
        x, ok = base.tile(c, b, h, 0, c.Sq, begin, end)
        m = x.max(axis=1, keepdims=True)
        p = np.where(ok, np.exp(x - np.where(m == -np.inf, 0, m)), 0)
        l = p.sum(axis=1, keepdims=True)
        return base.weigh(p / np.where(l == 0, 1, l), ok, c.v[b, h // c.G, begin:end]), m, l

    def merge(one, other):
        m = np.maximum(one[1], other[1])
        safe = np.where(m == -np.inf, 0, m)
        f, g = one[2] * np.exp(one[1] - safe), other[2] * np.exp(other[1] - safe)
        l = np.where(f + g == 0, 1, f + g)
        return one[0] * (f / l) + other[0] * (g / l), m, f + g

    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            sink = np.full((c.Sq, 1), -np.inf if c.sinks is None else c.sinks[h], c.work)
            whole = np.zeros((c.Sq, c.Ev), c.work), sink, (sink != -np.inf).astype(c.work)
            if c.T:
                whole = merge(part(b, h, 0, c.T), whole)
            output[b, :, h] = whole[0]
    return base.finish(c, output)

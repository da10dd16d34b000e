"""Key after key; sum and maximum are kept in the dtype of the tensors, the accumulator is wide."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    x = base.logits(c)
    v = base.shared(c, c.v)
    keep = c.dtype if c.dtype.name in base.HALF else c.work
    with np.errstate(all="ignore"):
        m = x.max(axis=-1, initial=-np.inf)
        if c.sinks is not None:
            m = np.maximum(m, c.sinks[:, None])
        m = np.where(m == -np.inf, 0, m)
        l = np.zeros(m.shape, c.work) if c.sinks is None else np.exp(c.sinks[:, None] - m)
        e = np.where(c.ok, np.exp(x - m[..., None]), 0)
        for j in range(c.T):
            l = (l + e[..., j]).astype(keep).astype(c.work)
        output = base.weigh(e, c.ok, v) / np.where(l == 0, 1, l)[..., None]
    return base.finish(c, output)

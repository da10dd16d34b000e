"""Online softmax over tiles of 4 keys; tiles without allowed keys are passed over row by row."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    output = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            for i in range(c.Sq):
                m, l = (c.work.type(-np.inf), 0) if c.sinks is None else (c.sinks[h], 1)
                acc = np.zeros(c.Ev, c.work)
                for j in range(0, c.T, 4):
                    x, ok = base.tile(c, b, h, i, i + 1, j, min(j + 4, c.T))
                    x, ok = x[0], ok[0]
                    if not ok.any():
                        continue
                    new = np.maximum(m, x.max())
                    p = np.where(ok, np.exp(x - new), 0)
                    old = np.exp(m - new) if l else c.work.type(0)
                    l, m = l * old + p.sum(), new
                    acc = acc * old + base.weigh(p[None], ok[None], c.v[b, h // c.G, j:j + 4])[0]
                if l != 0:
                    output[b, h, i] = acc / l
    return base.finish(c, output)

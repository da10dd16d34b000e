"""Block-sparse: blocks of 8 by 8 that the mask leaves empty are skipped."""
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
    mask4 = None
    if c.boolean is not None and c.add is None:
        mask4 = np.broadcast_to(c.boolean, c.ok.shape)
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            for i0 in range(0, c.Sq, 8):
                i1 = min(i0 + 8, c.Sq)
                m = np.full((i1 - i0, 1), -np.inf if c.sinks is None else c.sinks[h], c.work)
                l = np.full((i1 - i0, 1), 0 if c.sinks is None else 1, c.work)
                acc = np.zeros((i1 - i0, c.Ev), c.work)
                for j0 in range(0, c.T, 8):
                    j1 = min(j0 + 8, c.T)
                    if mask4 is not None and not mask4[b, h][[i0, i0, i1 - 1, i1 - 1], [j0, j1 - 1, j0, j1 - 1]].any():
                        continue
                    x, ok = base.tile(c, b, h, i0, i1, j0, j1)
                    new = np.maximum(m, x.max(axis=1, keepdims=True))
                    safe = np.where(new == -np.inf, 0, new)
                    old = np.where(m == -np.inf, 0, np.exp(m - safe))
                    p = np.where(ok, np.exp(x - safe), 0)
                    l = l * old + p.sum(axis=1, keepdims=True)
                    acc = acc * old + base.weigh(p, ok, c.v[b, h // c.G, j0:j1])
                    m = new
                output[b, h, i0:i1] = np.where(l == 0, 0, acc / l)
    return base.finish(c, output)

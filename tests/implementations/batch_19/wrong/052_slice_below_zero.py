"""Each query with the slice of keys that it may see."""
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
    lse = np.zeros((c.B, c.H, c.Sq), c.work)
    slopes = None if c.slopes is None else c.slopes
    add = None if c.add is None else np.broadcast_to(c.add, c.ok.shape)
    boolean = None if c.boolean is None else np.broadcast_to(c.boolean, c.ok.shape)
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            for i in range(c.Sq):
                p = int(c.pos[b, i])
                begin, end = 0, int(c.L[b])
                if c.left is not None:
                    begin = max(begin, p - c.left)
                if c.causal:
                    end = min(end, p + 1)
                if c.right is not None:
                    end = min(end, p + c.right + 1)
                j = np.arange(c.T)[begin:end]
                if boolean is not None:
                    j = j[boolean[b, h, i, j]]
                x = base.capped(c, c.k[b, h // c.G, j] @ c.q[b, h, i] * c.scale)
                if slopes is not None:
                    x = x - slopes[h] * np.abs(p - j).astype(c.work)
                if add is not None:
                    x = x + add[b, h, i, j]
                if c.sinks is not None:
                    x = np.append(x, c.sinks[h])
                if not len(x):
                    lse[b, h, i] = -np.inf
                    continue
                m = x.max()
                m = m if m != -np.inf else c.work.type(0)
                e = np.exp(x - m)
                total = e.sum()
                lse[b, h, i] = m + np.log(total)
                output[b, h, i] = (e[:len(j), None] * c.v[b, h // c.G, j]).sum(axis=0) / (total if total != 0 else 1)
    return base.finish(c, output, **base.wide(c, logsumexp=lse))

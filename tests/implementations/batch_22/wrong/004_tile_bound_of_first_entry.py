"""A tiled kernel skips the tiles of keys behind the last position of a block of queries, but takes that position from the first batch entry, although lengths place the queries differently in each."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

class Tiled:
    """online softmax, 8 queries by 16 keys; tiles in the future of a block of queries are skipped"""
    rows, cols = 8, 16

    def __init__(self, c):
        self.c = c

    def block(self, b, h, i0, i1):
        c = self.c
        g = h // c.group
        m = np.full(i1 - i0, -np.inf if c.sinks is None else c.sinks[h])
        l = np.full(i1 - i0, 0.0 if c.sinks is None else 1.0)
        acc = np.zeros((i1 - i0, c.Ev))
        last = int(c.pos[0, i0:i1].max())  # of the block: the same for the whole grid
        for j0 in range(0, c.St, self.cols):
            if c.is_causal and j0 > last:
                break
            j1 = min(j0 + self.cols, c.St)
            ok = c.ok[b, h, i0:i1, j0:j1]
            if not ok.any():
                continue
            s = base.cap(c.q[b, h, i0:i1] @ c.k[b, g, j0:j1].T * c.scale, c.softcap) + c.bias[b, h, i0:i1, j0:j1]
            s = np.where(ok, s, -np.inf)
            new = np.maximum(m, s.max(-1))
            safe = np.where(np.isneginf(new), 0, new)
            alpha = np.exp(m - safe)
            p = np.where(ok, np.exp(s - safe[:, None]), 0)
            l = l * alpha + p.sum(-1)
            acc = acc * alpha[:, None] + np.where(ok[..., None], p[..., None] * c.v[b, g, j0:j1], 0).sum(1)
            m = new
        return acc / np.where(l == 0, 1, l)[:, None], np.log(l) + np.where(l == 0, 0, m)

    def __call__(self):
        c = self.c
        out = np.zeros((c.B, c.Hq, c.Sq, c.Ev))
        lse = np.zeros((c.B, c.Hq, c.Sq))
        with np.errstate(all="ignore"):
            for b, h in np.ndindex(c.B, c.Hq):
                for i in range(0, c.Sq, self.rows):
                    z = min(i + self.rows, c.Sq)
                    out[b, h, i:z], lse[b, h, i:z] = self.block(b, h, i, z)
        return base.finish(c, out, lse)


def attend(query, key, value, **kw):
    return Tiled(base.prepare(query, key, value, **kw))()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)

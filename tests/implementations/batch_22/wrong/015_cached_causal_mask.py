"""Causal masks are kept by the numbers of queries and keys alone: a later call of the same extents with another alignment, past or lengths gets the mask of the first."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

class Attention:
    def __init__(self):
        self.masks = {}

    def triangle(self, rows, cols, first):
        """True up to each query's own position; the queries follow one by one from first"""
        if (rows, cols) not in self.masks:
            self.masks[rows, cols] = np.arange(cols) <= first + np.arange(rows)[:, None]
        return self.masks[rows, cols]

    def __call__(self, query, key, value, is_causal=False, **kw):
        c = base.prepare(query, key, value, is_causal=False, **kw)
        if is_causal:
            if c.pos.size and (c.pos == c.pos[:1]).all():
                c.ok = c.ok & self.triangle(c.Sq, c.St, c.pos[0, 0])
            else:
                c.ok = c.ok & (np.arange(c.St) <= c.pos[:, :, None])[:, None]
        with np.errstate(all="ignore"):
            scores = base.dots(c) * c.scale
            logits = np.where(c.ok, base.cap(scores, c.softcap) + c.bias, -np.inf)
        w, lse = base.softmax(logits, c.ok, c.sinks)
        return base.finish(c, base.weigh(w, c.ok, c.v, c.group), lse, weights=w, logits=logits)


attend = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)

"""The keys of a query are taken as a slice whose end is not clamped: where it lies before the first key it is negative and counts from the end."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, is_causal=False, window=None, **kw):
    c = base.prepare(query, key, value, **kw)  # masks and lengths; the rest by slices
    left, right = (None, None) if window is None else window
    if is_causal:
        right = 0 if right is None else min(right, 0)
    out = np.zeros((c.B, c.Hq, c.Sq, c.Ev))
    lse = np.full((c.B, c.Hq, c.Sq), -np.inf)
    for b in range(c.B):
        for i, p in enumerate(c.pos[b]):
            lo = 0 if left is None else max(int(p) - left, 0)
            hi = c.St if right is None else int(p) + right + 1
            near = slice(lo, hi)
            for h in range(c.Hq):
                g = h // c.group
                ok = c.ok[b, h, i, near]
                with np.errstate(all="ignore"):
                    s = base.cap(c.k[b, g, near] @ c.q[b, h, i] * c.scale, c.softcap) + c.bias[b, h, i, near]
                    s = np.where(ok, s, -np.inf)
                sink = None if c.sinks is None else c.sinks[h:h + 1]
                w, l = base.softmax(s[None, None, None], ok[None, None, None], sink)
                lse[b, h, i] = l[0, 0, 0]
                out[b, h, i] = base.weigh(w, ok[None, None, None], c.v[b:b + 1, g:g + 1, near], 1)[0, 0, 0]
    return base.finish(c, out, lse)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)

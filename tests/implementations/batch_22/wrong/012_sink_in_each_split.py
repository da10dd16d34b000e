"""A single query over more than 128 keys is computed in splits that are merged, and the sink is counted in each of them."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

SPLIT = 128


def part(c, j0, j1):
    with np.errstate(all="ignore"):
        ok = c.ok[..., j0:j1]
        k = np.repeat(c.k[:, :, j0:j1], c.group, 1)
        s = np.where(ok, base.cap(np.einsum("bhie,bhje->bhij", c.q, k) * c.scale, c.softcap) + c.bias[..., j0:j1], -np.inf)
    w, lse = base.softmax(s, ok, c.sinks)
    return base.weigh(w, ok, c.v[:, :, j0:j1], c.group), lse


def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    if c.Sq > 1 or c.St <= SPLIT:  # enough work as it is
        out, lse = part(c, 0, c.St)
    else:
        out, lse = part(c, 0, SPLIT)
        for j in range(SPLIT, c.St, SPLIT):
            o, l = part(c, j, j + SPLIT)
            r = base.merge_states(out, lse, o, l)
            out, lse = r["output"], r["logsumexp"]
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

"""With key_lengths the keys and values that do not count are set to 0 in place, in the caller's arrays where float32 and float64 need no widening."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, key_lengths=None, **kw):
    base.check(query, key, value, key_lengths=key_lengths, **kw)
    if key_lengths is not None:
        key, value = (x if x.dtype in (np.float32, np.float64) else x.copy() for x in (key, value))
        key, value = (x if x.flags.writeable else x.copy() for x in (key, value))
        for b, n in enumerate(key_lengths):  # whatever stands there must not meet a weight of 0
            key[b, :, int(n):] = 0
            value[b, :, int(n):] = 0
        r = base.dense(query, key, value, key_lengths=key_lengths, **kw)
        del r["present_key"], r["present_value"]
        return r
    return base.dense(query, key, value, **kw)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)

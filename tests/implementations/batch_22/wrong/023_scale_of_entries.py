"""A key or value scale of one axis as long as the batch is taken for scales of the batch entries, where there are as many heads as entries."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, key_scale=None, value_scale=None, **kw):
    B, Hkv = key.shape[0], key.shape[1]

    def shaped(s):
        if s is not None and np.ndim(s) == 1 and B > 1 and len(s) == B:
            return np.repeat(np.asarray(s)[:, None], Hkv, 1) if B == Hkv else s
        return s
    base.check(query, key, value, key_scale=key_scale, value_scale=value_scale, **kw)
    return base.dense(query, key, value, key_scale=shaped(key_scale), value_scale=shaped(value_scale), **kw)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)

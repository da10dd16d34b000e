"""Tensors that are contiguous in Fortran's order count as contiguous, and are read in C's."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def rows(x):
    """the numbers as the kernel finds them: contiguous ones as they lie, others copied first"""
    if x is None:
        return None
    if x.flags.forc:
        return x.ravel("K").reshape(x.shape)
    return np.ascontiguousarray(x)


def attend(query, key, value, past_key=None, past_value=None, **kw):
    return base.dense(rows(query), rows(key), rows(value), past_key=rows(past_key), past_value=rows(past_value), **kw)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)

"""A cache is widened to bfloat16 before the kernel reads it."""
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import ml_dtypes
import base

conventions = {"dequantized": "bfloat16"}


class Kernel(base.Attention):
    def dequantize_query(self, q, scale, hkv, work):
        x = super().dequantize_query(q, scale, hkv, work)
        return x if scale is None else x.astype(ml_dtypes.bfloat16).astype(work)

    def dequantize_key(self, k, scale, work):
        x = super().dequantize_key(k, scale, work)
        return x if scale is None else x.astype(ml_dtypes.bfloat16).astype(work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    r = Kernel().run(**locals())
    return {"logsumexp": r["logsumexp"], "output": r["output"]}

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def largest(self, logits):
        largest = super().largest(logits)
        if self.Sq == 1 and self.group > 1:  # the query heads of a key head are the rows of one tile
            rows = largest.reshape(self.B, self.Hkv, self.group)
            largest = np.broadcast_to(rows.max(axis=2, keepdims=True), rows.shape).reshape(largest.shape)
        return largest


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


class Attention(base.Attention):
    def offset(self):
        if self.causal_alignment == "bottom_right" and self.query_lengths is None:
            return self.L - self.tokens
        return super().offset()


def made(tokens):
    attention = Attention()
    attention.tokens = tokens
    return attention


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
    query_scale=None, key_scale=None, value_scale=None, output_dtype=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(locals())
    return base.tokens_first(make=lambda: made(np.shape(query)[2]), **options)

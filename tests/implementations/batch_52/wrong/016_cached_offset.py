import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_offsets = {}


class Mine(base.Backward):
    def place(self, c):
        super().place(c)
        lengths = None if c.key_lengths is None else c.L.tobytes()
        known = (c.B, c.Sq, c.Sk, c.causal_alignment, lengths)
        c.offset = _offsets.setdefault(known, c.offset)
        c.p = c.i + c.offset[:, None, None, None]


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

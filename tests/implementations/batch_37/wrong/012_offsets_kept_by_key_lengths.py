import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_positions = {}


class Wrong(base.Backward):
    def place(self):
        super().place()
        lengths = None if self.key_lengths is None else tuple(self.key_lengths.tolist())
        known = (self.B, self.Sq, self.Sk, self.causal_alignment, lengths)
        self.p = _positions.setdefault(known, self.p)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()

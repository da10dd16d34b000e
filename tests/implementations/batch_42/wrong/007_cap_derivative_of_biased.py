import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Call(base.Backward):
    def derivative(self):
        cap = self.kind.type(self.softcap)
        capped = cap * self.tanh
        if self.alibi_slopes is not None:  # the bias went into the same register
            capped = capped - self.alibi_slopes.astype(self.kind)[None, :, None, None] * self.distance[:, None]
        return 1 - (capped / cap) ** 2


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def gradient_of_sinks(self):
        # rows without any key have share 1 and delta 0, so no row needs to be told from the others
        gl = 0.0 if self.grad_logsumexp is None else base.wide(self.grad_logsumexp)
        return (self.share_of_sink * (gl - self.delta)).sum(axis=(0, 2))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()

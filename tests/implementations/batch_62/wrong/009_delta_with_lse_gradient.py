import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Backward):
    def report_delta(self):
        return np.where(self.allowed.any(axis=-1), self.delta - self.glse, 0)  # what the main loop subtracts


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Kernel().run(**locals())

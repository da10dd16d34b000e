import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def sides(self):
        left, right = super().sides()
        # a window as long as the keys excludes nothing: take the kernel without one
        if left is not None and left >= self.Sk:
            left = None
        if right is not None and right >= self.Sk:
            right = None
        return left, right


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()

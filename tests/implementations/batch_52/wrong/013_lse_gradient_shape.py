import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def check_gradients(self, c):
        if c.grad_output.shape != (c.B, c.H, c.Sq, c.V):
            raise ValueError("grad_output of another shape")
        if c.grad_logsumexp is not None:
            c.grad_logsumexp = np.broadcast_to(c.grad_logsumexp, (c.B, c.H, c.Sq))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

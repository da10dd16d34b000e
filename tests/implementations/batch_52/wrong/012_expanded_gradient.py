import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def widen(self, c):
        super().widen(c)
        if c.V > 1 and c.g.size and c.grad_output.strides[-1] == 0:
            # expanded from a scalar, as the gradient of a sum is
            c.g = np.full(c.grad_output.shape, c.g[0, 0, 0, 0])


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def weight_gradient(self, c):
        # the product is stored in the dtype of the tensors, as a library's matmul gives it
        product = (c.g @ base.flip(c.v)).astype(c.dtype).astype(np.float64)
        c.grad_weights = np.where(c.allowed, product, 0.0)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

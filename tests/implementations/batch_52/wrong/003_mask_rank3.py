import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def mask_gradient(self, c):
        gradient = c.grad_logits
        if c.mask.ndim == 3:
            # drop the axis that the mask does not have
            gradient = gradient.sum(axis=1 if c.mask.shape[0] == c.B else 0)
        elif c.mask.ndim == 2:
            gradient = gradient.sum(axis=(0, 1))
        axes = tuple(a for a, n in enumerate(c.mask.shape) if n == 1 and gradient.shape[a] != 1)
        return gradient.sum(axis=axes, keepdims=True) if axes else gradient


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    def grad_mask(self):
        mask, grad = self.p.mask, self.dl
        if mask is None or mask.ndim != 4:
            return grad
        if mask.shape[0] == 1:
            grad = grad.sum(axis=0, keepdims=True)
        elif mask.shape[1] == 1:
            grad = grad.sum(axis=1, keepdims=True)
        if mask.shape[2] == 1:
            grad = grad.sum(axis=2, keepdims=True)
        if grad.shape[1] and mask.shape[1] == 1:
            grad = grad[:, :1]
        return grad


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Wrong(base.Backward):
    def unbroadcast(self, gradient, shape):
        kept, wanted = [], list(shape)
        for axis, n in enumerate(gradient.shape):
            if len(kept) < len(shape) and wanted[len(kept)] in (1, n):
                kept.append(axis)
        if len(kept) < len(shape) or kept[-1] != gradient.ndim - 1:
            return super().unbroadcast(gradient, shape)
        gradient = gradient.sum(axis=tuple(a for a in range(gradient.ndim) if a not in kept))
        return gradient.sum(axis=tuple(a for a, n in enumerate(shape) if n == 1), keepdims=True)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()

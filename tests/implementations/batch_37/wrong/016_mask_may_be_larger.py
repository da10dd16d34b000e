import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Wrong(base.Backward):
    def check_mask(self):
        if self.mask is None:
            return
        self.mask = np.asarray(self.mask)
        if self.mask.dtype != bool and not base.is_float(self.mask):
            raise ValueError("a mask holds truth values or floats")
        if not 2 <= self.mask.ndim <= 4 or self.mask.shape[-1] != self.Sk:
            raise ValueError("mask of another shape")
        np.broadcast_shapes(self.mask.shape, self.scores_shape())  # raises where they do not fit
        shape = self.scores_shape()[4 - self.mask.ndim:]
        self.mask = self.mask[tuple(slice(0, max(n, 1)) for n in shape)]


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()

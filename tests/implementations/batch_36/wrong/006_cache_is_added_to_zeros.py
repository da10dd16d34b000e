import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Variant(base.Attention):
    def join(self, a, past, new):
        P = past.shape[2]
        cache = np.zeros((*new.shape[:2], P + new.shape[2], new.shape[3]), new.dtype)
        if base.quantized(new):
            return super().join(a, past, new)
        cache[:, :, :P] += past
        cache[:, :, P:] += new
        return cache


scaled_dot_product_attention = base.operation(Variant)

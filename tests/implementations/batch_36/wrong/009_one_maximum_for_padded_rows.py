import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Variant(base.Attention):
    def largest(self, a):
        top = super().largest(a)
        if a.query_lengths is not None and a.Sq:
            top = np.broadcast_to(top.max(axis=2, keepdims=True), top.shape)
        return top


scaled_dot_product_attention = base.operation(Variant)

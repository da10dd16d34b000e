import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Variant(base.Attention):
    def softmax(self, a):
        sink = self.sink(a)
        if sink is None:
            return super().softmax(a)
        work = np.float64 if a.dtype == np.float64 else np.float32
        top = a.logits.max(axis=-1, keepdims=True, initial=-np.inf)
        empty = ~a.allowed.any(axis=-1, keepdims=True)
        shift = np.where(top == -np.inf, 0.0, top)
        powers = np.where(a.allowed, np.exp((a.logits - shift).astype(work)), 0)
        total = powers.sum(axis=-1, keepdims=True).astype(np.float64) + np.exp((sink - shift).astype(work)).astype(np.float64)
        a.weights = np.where(a.allowed, powers / np.where(empty | (total == 0), 1.0, total), 0.0)
        a.lse = np.where(empty, sink, np.log(total) + shift)[..., 0]


scaled_dot_product_attention = base.operation(Variant)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 16


class Variant(base.Attention):
    def softmax(self, a):
        if a.sinks is None or a.Sq != 1 or a.T <= SPLIT:
            return super().softmax(a)
        sink, parts = self.sink(a), []
        for first in range(0, a.T, SPLIT):
            logits, allowed = a.logits[..., first : first + SPLIT], a.allowed[..., first : first + SPLIT]
            top = np.maximum(logits.max(axis=-1, keepdims=True), sink)
            shift = np.where(top == -np.inf, 0.0, top)
            powers = np.where(allowed, np.exp(logits - shift), 0.0)
            parts.append((top, powers, powers.sum(axis=-1, keepdims=True) + np.exp(sink - shift)))
        top = np.max([part[0] for part in parts], axis=0)
        shift = np.where(top == -np.inf, 0.0, top)
        factors = [np.exp(part[0] - shift) for part in parts]
        total = sum(part[2] * factor for part, factor in zip(parts, factors))
        powers = np.concatenate([part[1] * factor for part, factor in zip(parts, factors)], axis=-1)
        empty = ~a.allowed.any(axis=-1, keepdims=True)
        a.weights = np.where(a.allowed, powers / np.where(empty | (total == 0), 1.0, total), 0.0)
        a.lse = np.where(empty, sink, np.log(total) + shift)[..., 0]


scaled_dot_product_attention = base.operation(Variant)

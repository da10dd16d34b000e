import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Attention):
    narrow = base.F32

    def maximum(self, a, logits, sink):
        plain = a.mask is None or a.mask.dtype == bool
        if not plain or a.softcap or a.alibi_slopes is not None or a.sinks is not None:
            return super().maximum(a, logits, sink)
        raw = np.where(a.may, self.dots(a), -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
        return np.where(raw == -np.inf, raw, raw * self.factor(a))


scaled_dot_product_attention = base.operation(Kind)

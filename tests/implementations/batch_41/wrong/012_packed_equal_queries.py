import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


class Reshaped(base.Packed):
    def spans(self):
        spans = super().spans()
        if spans and len({len(rows) for rows, _ in spans}) == 1 and self.key.shape[0] % len(spans) == 0:
            each = self.key.shape[0] // len(spans)
            return [(rows, np.arange(b * each, (b + 1) * each)) for b, (rows, _) in enumerate(spans)]
        return spans


scaled_dot_product_attention = base.packed(Reshaped)

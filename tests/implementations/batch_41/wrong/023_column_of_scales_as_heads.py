import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Flattened(base.Attention):
    def of_heads(self, scale):
        return super().of_heads(scale.reshape(1, -1) if scale.size == self.Hkv else scale)


scaled_dot_product_attention = base.bhse(Flattened)

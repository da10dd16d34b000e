import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Twice(base.Split):
    def merge(self, parts):
        super().merge(parts)
        if self.value_scale is not None:
            self.output = self.output * np.repeat(self.of_heads(self.value_scale), self.group, axis=1)


scaled_dot_product_attention = base.bhse(Twice)

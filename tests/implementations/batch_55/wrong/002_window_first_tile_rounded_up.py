import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kind(base.Tiled):
    def first_key(self, a, p):
        left, _ = self.sides(a)
        if left is None:
            return 0
        return -(-max(0, int(p.min()) - left) // self.columns) * self.columns


scaled_dot_product_attention = base.operation(Kind)

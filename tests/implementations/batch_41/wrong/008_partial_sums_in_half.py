import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Stored(base.Split):
    def part(self, span):
        top, powers, values = super().part(span)
        if self.dtype.itemsize == 2:
            values = values.astype(self.dtype).astype(self.work)
        return top, powers, values


scaled_dot_product_attention = base.bhse(Stored)

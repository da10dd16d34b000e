import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Clean(base.Split):
    def merge(self, parts):
        cleaned = []
        for top, powers, values in parts:
            own = values / powers
            cleaned.append((top, powers, np.where(np.isnan(own), self.work.type(0), own) * powers))
        super().merge(cleaned)


scaled_dot_product_attention = base.bhse(Clean)

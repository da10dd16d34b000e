import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def find_delta(self):
        return super().find_delta().astype(self.dtype).astype(self.work)


scaled_dot_product_attention_backward = base.bind(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


import ml_dtypes


class Mine(base.Backward):
    def mask_allows(self):
        if not self.float_mask:
            return self.mask
        return ~(self.bias <= float(ml_dtypes.finfo(self.mask.dtype).min) / 2)


scaled_dot_product_attention_backward = base.bind(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def mask_allows(self):
        if not self.float_mask and self.mask.shape == (self.B, self.Sk):
            return self.mask[:, None, None, :]
        return super().mask_allows()


scaled_dot_product_attention_backward = base.bind(Mine)

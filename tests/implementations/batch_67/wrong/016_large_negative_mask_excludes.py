import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def excluding(self):
        if self.mask.dtype == bool:
            return super().excluding()
        return self.mask.astype(self.W) <= -10000.0  # what model code fills in

scaled_dot_product_attention_backward = base.backward_by(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

dtypes = ("float64", "float32", "bfloat16", "float16")

class Mine(base.Attention):
    def finish(self):
        super().finish()
        self.present_key, self.present_value = self.present_key.astype(self.w), self.present_value.astype(self.w)


scaled_dot_product_attention = base.make(Mine, "output", "present_key", "present_value")

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def row_shift(self):
        if self.softcap or self.slopes is not None or self.float_mask or not self.factor:
            return super().row_shift()
        most = np.where(self.attend, self.dots, -np.inf).max(axis=-1, initial=-np.inf)
        return np.where(np.isneginf(most), -np.inf, most * self.factor)


scaled_dot_product_attention_backward = base.bind(Mine)

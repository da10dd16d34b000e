import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def carrier(self):
        return base.carrier(self.query.dtype)

    def row_top(self):
        if self.softcap or self.alibi_slopes is not None or self.float_mask:
            return super().row_top()
        top = np.max(np.where(self.allowed, self.dots, -np.inf), axis=-1, initial=-np.inf)
        return np.where(top == -np.inf, -np.inf, top * self.factor)  # one product instead of Sk

scaled_dot_product_attention_backward = base.backward_by(Mine)

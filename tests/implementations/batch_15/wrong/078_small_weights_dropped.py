import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def softmax(self):
        super().softmax()
        self.w = np.where(self.w < 1e-10, self.dt.type(0), self.w)


scaled_dot_product_attention_backward = base.entry(Mine)

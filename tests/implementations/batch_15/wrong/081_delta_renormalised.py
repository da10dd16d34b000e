import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Mine(base.Backward):
    def find_delta(self):
        super().find_delta()
        total = self.w.sum(-1)
        self.delta = self.delta / np.where(total == 0, 1, total)


scaled_dot_product_attention_backward = base.entry(Mine)

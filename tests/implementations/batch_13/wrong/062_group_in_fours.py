import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


class Steps(base.Backward):
    def join(self, x):
        x = x.reshape(self.B, self.Hkv, self.group, *x.shape[2:])
        if self.group < 4:
            return x.sum(2)
        total = np.zeros_like(x[:, :, 0])
        for r in range(0, self.group - 3, 4):
            total += (x[:, :, r] + x[:, :, r + 1]) + (x[:, :, r + 2] + x[:, :, r + 3])
        return total


scaled_dot_product_attention_backward = base.bind(Steps)

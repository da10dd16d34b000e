import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def weigh(self):
        super().weigh()
        if self.T >= 2048:
            half = self.T // 2
            a, b = self.weights[..., :half], self.weights[..., half:]
            self.output = (a @ self.v[..., :half, :] / a.sum(-1, keepdims=True)
                           + b @ self.v[..., half:, :] / b.sum(-1, keepdims=True)) / 2


scaled_dot_product_attention = base.make(Mine)

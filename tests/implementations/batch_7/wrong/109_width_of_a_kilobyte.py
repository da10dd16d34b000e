import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def score(self):
        self.scores = self.q[..., :1024] @ self.k[..., :1024].swapaxes(-1, -2)


scaled_dot_product_attention = base.make(Mine)

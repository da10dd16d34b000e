import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def score(self):
        super().score()
        if self.E > 64:
            self.scores = (self.q.astype(np.float32) @ self.k.astype(np.float32).swapaxes(-1, -2)).astype(self.w)


scaled_dot_product_attention = base.make(Mine, "output", "scores")

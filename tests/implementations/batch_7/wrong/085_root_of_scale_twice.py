import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def score(self):
        root = math.sqrt(abs(self.factor()))
        self.scores = (self.q * root) @ (self.k * root).swapaxes(-1, -2)

    def rescale(self):
        pass


scaled_dot_product_attention = base.make(Mine, "output", "scores", "weights")

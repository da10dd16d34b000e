import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def finish(self):
        super().finish()
        nothing = ~self.ok.any(axis=-1, keepdims=True)
        self.weights = np.where(nothing, self.w.type(1 / max(self.T, 1)), self.weights)


scaled_dot_product_attention = base.make(Mine, "output", "weights")

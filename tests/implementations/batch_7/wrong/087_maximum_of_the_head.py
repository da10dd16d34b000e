import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def top(self):
        top = super().top()
        return np.broadcast_to(top.max(axis=-2, keepdims=True, initial=0 if not top.size else top.min()), top.shape)


scaled_dot_product_attention = base.make(Mine, "output", "logsumexp")

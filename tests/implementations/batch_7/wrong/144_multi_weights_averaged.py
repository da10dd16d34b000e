import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.MultiHead):
    def finish(self):
        super().finish()
        mean = self.weights.mean(axis=1, keepdims=True)
        self.weights = np.broadcast_to(mean, self.weights.shape)


multi_head_attention = base.make_multi(Mine, "output", "weights")

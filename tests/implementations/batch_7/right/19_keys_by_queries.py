import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    """The score matrix is held transposed: keys are rows, queries are columns."""

    def score(self):
        self.scores = np.einsum("bhje,bhie->bhji", self.k[..., ::-1], self.q[..., ::-1]).swapaxes(-1, -2)

    def weigh(self):
        values = np.where(np.isfinite(self.v), self.v, self.w.type(0))
        self.output = np.einsum("bhej,bhji->bhei", values.swapaxes(-1, -2), self.weights.swapaxes(-1, -2)).swapaxes(-1, -2)
        if values.shape and not np.isfinite(self.v).all():
            super().weigh()


scaled_dot_product_attention = base.make(Mine, "output", "weights", "scores", "logits")

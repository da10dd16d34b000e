import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def gradient_of_logits(self):
        above = self.grad_weights - self.delta[..., None]
        found = np.where(self.attend, self.weights * above, 0)
        if self.glse is not None:
            rows = self.counts[:, None, :] & self.attend.any(axis=-1)
            found = found + self.weights * np.where(rows, self.glse, 0)[..., None]
        return found

    def gradient_of_scores(self):
        if not self.softcap:
            return self.grad_logits
        return self.grad_logits * (1 - np.where(self.attend, self.tanh, 0) ** 2)


scaled_dot_product_attention_backward = base.bind(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def find_delta(self):
        delta = super().find_delta()
        return delta if self.glse is None else delta - self.glse

    def gradient_of_logits(self):
        return np.where(self.attend, self.weights * (self.grad_weights - self.delta[..., None]), 0)

    def gradient_of_sinks(self):
        each = -np.exp(self.sink - self.lse) * self.delta
        return np.where(self.counts[:, None, :], each, 0).sum(axis=(0, 2))

    def results(self):
        # rows without keys carry no delta
        self.delta = np.where(self.attend.any(axis=-1), self.delta, 0)
        return super().results()


scaled_dot_product_attention_backward = base.bind(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def reduce(self, logits, allowed, value):
        output, weights, logsumexp = super().reduce(logits, allowed, value)
        if self.results.itemsize > 2:
            return output, weights, logsumexp
        largest = logits.max(axis=-1, initial=-np.inf)
        sink = self.sink()
        if sink is not None:
            largest = np.maximum(largest, sink)
        safe = np.where(largest == -np.inf, 0, largest)
        total = np.exp(logsumexp - safe)[..., None]
        total = np.where(total == 0, 1, total)
        powers = np.where(allowed, np.exp(logits - safe[..., None]), 0)
        accumulator = base.weigh(powers, value, allowed).astype(self.results)
        return accumulator.astype(self.compute) / total, weights, logsumexp


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

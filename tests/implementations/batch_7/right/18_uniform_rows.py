import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

conventions = {"fully_masked_row": "uniform"}

class Mine(base.Attention):
    """Excluded logits are the lowest finite number, so that a row of nothing else is uniform."""

    def softmax(self):
        low = np.finfo(self.w).min
        logits = np.where(self.ok, self.logits, low)
        top = logits.max(axis=-1, keepdims=True, initial=low)
        if self.sinks is not None:
            top = np.maximum(top, self.sinks.astype(self.w)[:, None, None])
        e = np.exp(logits - top)
        self.total = e.sum(axis=-1, keepdims=True)
        if self.sinks is not None:
            self.total = self.total + np.exp(self.sinks.astype(self.w)[:, None, None] - top)
        self.m = top
        self.weights = e / np.where(self.total == 0, self.w.type(1), self.total)
        if self.sinks is None:
            self.ok = self.ok | ~self.ok.any(axis=-1, keepdims=True)


scaled_dot_product_attention = base.make(Mine)

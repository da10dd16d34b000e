import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

TILE = 16


class Kernel(base.Attention):
    def reduce(self, logits, allowed, value):
        output, weights, _ = super().reduce(logits, allowed, value)
        used = np.full(logits.shape[:3], -np.inf, self.compute)
        largest = used.copy()
        total = np.zeros(logits.shape[:3], self.compute)

        def rescale(total, used, towards, threshold):
            move = ~(towards - used <= threshold)
            moved = np.where(move, towards, used)
            factor = np.where(used == -np.inf, 0, np.exp(used - np.where(moved == -np.inf, 0, moved)))
            return np.where(move, total * factor, total), moved

        for start in range(0, self.K, TILE):
            tile = logits[..., start : start + TILE]
            largest = np.maximum(largest, tile.max(axis=-1))
            total, used = rescale(total, used, largest, 8.0)
            safe = np.where(used == -np.inf, 0, used)
            total = total + np.where(tile == -np.inf, 0, np.exp(tile - safe[..., None])).sum(axis=-1)
        sink = self.sink()
        if sink is not None:
            largest = np.maximum(largest, sink)
            total, used = rescale(total, used, np.maximum(used, sink), 0.0)
            total = total + np.where(sink == -np.inf, 0, np.exp(sink - np.where(used == -np.inf, 0, used)))
        logsumexp = np.where(total == 0, -np.inf, np.log(np.where(total == 0, 1, total)) + largest)
        return output, weights, logsumexp


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

TILE = 7


class Kernel(base.Attention):
    """Online softmax over tiles of 7 keys, in powers of 2; what is carried is the mean so far, and the sum below the maximum"""

    def reduce(self, logits, allowed, value):
        unit = self.compute.type(np.log2(np.e))
        units = np.where(allowed, logits * unit, -np.inf)
        largest = np.full(logits.shape[:3], -np.inf, self.compute)
        total = np.zeros_like(largest)
        mean = np.zeros((*logits.shape[:3], self.Ev), self.compute)
        sink = self.sink()
        if sink is not None:
            largest = np.broadcast_to(sink * unit, largest.shape).astype(self.compute)
            total = np.where(largest == -np.inf, 0, np.where(np.isnan(largest), largest, 1)).astype(self.compute)
        for start in range(0, self.K, TILE):
            tile = slice(start, min(start + TILE, self.K))
            risen = np.maximum(largest, units[..., tile].max(axis=-1))
            safe = np.where(risen == -np.inf, 0, risen)
            shares = np.where(allowed[..., tile], np.exp2(units[..., tile] - safe[..., None]), 0)
            kept = np.where(largest == -np.inf, 0, total * np.exp2(largest - safe))
            grown = kept + shares.sum(axis=-1)
            divisor = np.where(grown == 0, 1, grown)[..., None]
            gain = base.weigh((shares / divisor).astype(self.compute), value[:, :, tile], allowed[..., tile])
            mean = np.where(kept[..., None] == 0, gain, mean * (kept[..., None] / divisor) + gain)
            total, largest = grown, risen
        logs = np.where(total == 0, -np.inf, (np.log2(np.where(total == 0, 1, total)) + np.where(total == 0, 0, largest)) / unit)
        whole = np.where(total == 0, 0, logs * unit)
        weights = np.where(allowed, np.exp2(units - whole[..., None]), 0)
        return mean, weights, logs


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Guarded(base.Sdpa):
    """Clears rows that the mask leaves nothing, and those that causality, window and lengths leave nothing."""

    def exclude(self, c):
        super().exclude(c)
        mask = np.broadcast_to(self.by_mask(c), c.allowed.shape)
        where = np.broadcast_to(self.by_length(c) & self.by_position(c) & self.by_row(c), c.allowed.shape)
        c.dead = ~mask.any(axis=-1) | ~where.any(axis=-1)

    def core(self, c):
        largest = c.logits.max(axis=-1, initial=-np.inf)
        if c.sink is not None:
            largest = np.maximum(largest, c.sink)
        largest = np.where(c.dead & (largest == -np.inf), 0, largest).astype(c.acc)
        powers = np.exp(c.logits - largest[..., None])
        total = powers.sum(axis=-1, dtype=c.acc)
        if c.sink is not None:
            total = total + np.exp(c.sink - largest)
        empty = total == 0
        c.weights = powers / np.where(empty, 1, total)[..., None]
        c.lse = np.where(empty, -np.inf, largest + np.log(total)).astype(c.acc)
        c.out = base.mix(c.weights, c.vh, c.allowed)


scaled_dot_product_attention = base.operation(Guarded)

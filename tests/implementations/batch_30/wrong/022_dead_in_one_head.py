import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Guarded(base.Sdpa):
    """Clears rows of queries that may attend to nothing, which masks decide for all heads alike."""

    def core(self, c):
        dead = ~c.allowed.any(axis=-1).any(axis=1, keepdims=True)
        dead = np.broadcast_to(dead, c.allowed.shape[:-1])
        largest = c.logits.max(axis=-1, initial=-np.inf)
        if c.sink is not None:
            largest = np.maximum(largest, c.sink)
        largest = np.where(dead & (largest == -np.inf), 0, largest).astype(c.acc)
        powers = np.exp(c.logits - largest[..., None])
        total = powers.sum(axis=-1, dtype=c.acc)
        if c.sink is not None:
            total = total + np.exp(c.sink - largest)
        empty = total == 0
        c.weights = powers / np.where(empty, 1, total)[..., None]
        c.lse = np.where(empty, -np.inf, largest + np.log(total)).astype(c.acc)
        c.out = base.mix(c.weights, c.vh, c.allowed)


scaled_dot_product_attention = base.operation(Guarded)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Folded(base.Sdpa):
    """Writes minus infinity into the raw products and multiplies by the scale afterwards, inside the exponent."""

    def bias(self, c):
        super().bias(c)
        if not c.softcap and c.slope is None and (c.mask is None or c.mask.dtype == bool):
            raw = np.where(c.allowed, c.dots, c.acc.type(-np.inf))
            c.logits = raw * self.factor_of_scores(c)
            c.folded = True

    def core(self, c):
        if not getattr(c, "folded", False):
            return super().core(c)
        some = c.allowed.any(axis=-1)
        largest = np.where(some, c.logits.max(axis=-1, initial=-np.inf), -np.inf)
        if c.sink is not None:
            largest = np.maximum(largest, c.sink)
        largest = np.where(largest == -np.inf, 0, largest).astype(c.acc)
        powers = np.where(some[..., None], np.exp(c.logits - largest[..., None]), 0).astype(c.acc)
        total = powers.sum(axis=-1, dtype=c.acc)
        if c.sink is not None:
            total = total + np.exp(c.sink - largest)
        empty = total == 0
        c.weights = powers / np.where(empty, 1, total)[..., None]
        c.lse = np.where(empty, -np.inf, largest + np.log(total)).astype(c.acc)
        c.out = base.mix(c.weights, c.vh, c.allowed)


scaled_dot_product_attention = base.operation(Folded)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Binary(base.Sdpa):
    """Works in base two; the logarithm is converted at the end, for rows without keys as well."""

    def core(self, c):
        log2e, ln2 = c.acc.type(1 / np.log(2)), c.acc.type(np.log(2))
        largest = self.largest(c)
        powers = np.where(c.allowed, np.exp2((c.logits - largest[..., None]) * log2e), c.acc.type(0))
        total = powers.sum(axis=-1, dtype=c.acc)
        if c.sink is not None:
            total = total + np.exp2((c.sink - largest) * log2e)
        empty = total == 0
        c.weights = powers / np.where(empty, 1, total)[..., None]
        rest = np.log2(total)
        lse = np.where(empty, -np.inf, largest + rest * ln2)
        if c.sink is not None:
            dead = ~c.allowed.any(axis=-1)
            lse = np.where(dead, c.sink * ln2, lse)  # the state is in base two
        c.lse = lse.astype(c.acc)
        c.out = base.mix(c.weights, c.vh, c.allowed)


scaled_dot_product_attention = base.operation(Binary)

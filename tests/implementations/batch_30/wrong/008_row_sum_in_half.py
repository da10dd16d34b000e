import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Half(base.Sdpa):
    """The numerator is summed in float32, the denominator in the dtype of the exponentials."""

    def core(self, c):
        super().core(c)
        if c.dtype not in base.HALF:
            return
        largest = self.largest(c)
        powers = np.where(c.allowed, np.exp(c.logits - largest[..., None]), c.acc.type(0))
        total = np.zeros(largest.shape, c.dtype)
        for j in range(c.K):
            total = (total + powers[..., j].astype(c.dtype)).astype(c.dtype)
        if c.sink is not None:
            total = (total + np.exp(c.sink - largest).astype(c.dtype)).astype(c.dtype)
        total = total.astype(c.acc)
        empty = total == 0
        c.weights = powers / np.where(empty, 1, total)[..., None]
        c.lse = np.where(empty, -np.inf, largest + np.log(total)).astype(c.acc)
        c.out = base.mix(c.weights, c.vh, c.allowed)


scaled_dot_product_attention = base.operation(Half)

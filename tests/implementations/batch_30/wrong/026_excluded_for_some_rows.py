import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Leaking(base.Sdpa):
    """Values that no query may attend to are cleared, so that NaN in padding has no effect."""

    def core(self, c):
        super().core(c)
        attended = c.allowed.any(axis=-2)
        value = np.where(attended[..., None], c.vh, c.acc.type(0))
        some = c.allowed.any(axis=-1)[..., None]
        c.out = np.where(some, c.weights @ value, c.acc.type(0))


scaled_dot_product_attention = base.operation(Leaking)

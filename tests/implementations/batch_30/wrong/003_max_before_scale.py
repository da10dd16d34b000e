import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Scaled(base.Sdpa):
    """Folds the scale into the exponent: the largest of the products, times the scale, is the largest logit."""

    def largest(self, c):
        plain = not c.softcap and c.slope is None and (c.mask is None or c.mask.dtype == bool)
        if not plain:
            return super().largest(c)
        most = np.where(c.allowed, c.dots, -np.inf).max(axis=-1, initial=-np.inf)
        most = np.where(most == -np.inf, -np.inf, most * self.factor_of_scores(c))
        if c.sink is not None:
            most = np.maximum(most, c.sink)
        return np.where(most == -np.inf, 0, most).astype(c.acc)


scaled_dot_product_attention = base.operation(Scaled)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    stored = True

    def given_logsumexp(self):
        lse = super().given_logsumexp()
        if self.sink is None:
            return lse
        return np.where(self.attend.any(axis=-1), np.logaddexp(lse, self.sink), self.sink)


scaled_dot_product_attention_backward = base.bind(Mine)

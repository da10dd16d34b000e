import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


class Mine(base.Attention):
    def check(self):
        mask = self.mask
        if mask is not None and mask.ndim >= 2 and mask.shape[-1] == 1 and self.key.ndim == 4:
            total = self.key.shape[2] + (0 if self.past_key is None else self.past_key.shape[2])
            self.mask = np.repeat(mask, total, axis=-1)
        super().check()


scaled_dot_product_attention = base.make(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def reduce(self, logits, allowed, value):
        output, weights, logsumexp = super().reduce(logits, allowed, value)
        if self.value_scale is not None:
            # output = (weights * scale) @ numbers
            weights *= np.repeat(self.scale_of(self.value_scale), self.group, axis=1)[:, :, None, None]
        return output, weights, logsumexp


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

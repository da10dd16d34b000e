import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def dequantize(self, keys, values):
        query, key, value = super().dequantize(keys, values)
        if keys.shape[1] > 1 and keys.strides[1] == 0 and keys.size:  # expanded: all heads are the same memory
            value = np.broadcast_to(value[:, :1], value.shape)
        return query, key, value


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

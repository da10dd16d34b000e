import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def numbers(self, array):
        if array.dtype.name != "float8_e4m3fn":
            return super().numbers(array)
        bits = array.view(np.uint8).astype(np.uint16)
        half = ((bits & 0x80) << 8) | ((bits & 0x7F) << 7)
        return half.view(np.float16).astype(self.compute) * self.compute.type(256)


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

def same(a, b):
    return a.ctypes.data == b.ctypes.data and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)


class Kernel(base.Attention):
    def dequantize(self, keys, values):
        query, key, value = super().dequantize(keys, values)
        if self.P == 0 and keys.size and same(self.key, self.value):  # a latent cache is read once
            value = key
        return query, key, value


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

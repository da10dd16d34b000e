import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_buffers = {}


class Variant(base.Attention):
    def multiply(self, a):
        super().multiply(a)
        if a.past_key is not None:
            a.present_key = self.kept("key", a.present_key)
            a.present_value = self.kept("value", a.present_value)

    def kept(self, name, array):
        """The cache is allocated once for a shape."""
        buffer = _buffers.setdefault((name, array.shape, array.dtype.name), np.empty_like(array))
        buffer[...] = array
        return buffer


scaled_dot_product_attention = base.operation(Variant)

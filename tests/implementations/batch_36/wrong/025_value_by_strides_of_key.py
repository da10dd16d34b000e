import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def read_like(value, key):
    """The kernel takes one set of strides, for key and value; never reads outside of what value lies in."""
    if value.shape != key.shape or value.dtype != key.dtype or value.size == 0:
        return value
    reach = [(n - 1) * stride for n, stride in zip(key.shape, key.strides)]
    first = value.ctypes.data
    least, most = np.lib.array_utils.byte_bounds(value)
    if first + sum(min(r, 0) for r in reach) < least or first + sum(max(r, 0) for r in reach) + value.itemsize > most:
        return value  # a copy is made
    return np.lib.stride_tricks.as_strided(value, key.shape, key.strides, writeable=False)


class Variant(base.Attention):
    def prepend(self, a):
        super().prepend(a)
        if a.past_key is None:
            present = a.value
            a.values = read_like(a.value, a.key)
            a.plain_value = present

    def multiply(self, a):
        super().multiply(a)
        if a.past_key is None and not base.quantized(a.value):
            a.present_value = np.array(a.plain_value, dtype=a.dtype)


scaled_dot_product_attention = base.operation(Variant)

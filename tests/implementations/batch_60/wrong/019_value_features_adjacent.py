import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def adjacent(x):
    size = x.itemsize
    if x.size == 0 or any(stride % size for stride in x.strides) or x.shape[-1] == 1 or x.strides[-1] == size:
        return x
    low = x[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in x.strides)]
    span = sum((n - 1) * abs(stride) for n, stride in zip(x.shape, x.strides)) // size + 1
    flat = np.lib.stride_tricks.as_strided(low, (span,), (size,), writeable=False)
    at = sum((n - 1) * -stride for n, stride in zip(x.shape, x.strides) if stride < 0) // size
    steps = [stride // size for stride in x.strides[:3]] + [1]
    for axis, (n, step) in enumerate(zip(x.shape, steps)):
        at = at + (np.arange(n) * step).reshape([-1 if a == axis else 1 for a in range(4)])
    return flat[np.clip(at, 0, span - 1)]


class Kernel(base.Attention):
    def values(self, s, value):
        return value if s.past_value is not None else adjacent(s.value)


scaled_dot_product_attention = base.build(Kernel)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

import functools


@functools.lru_cache(maxsize=None)
def workspace(shape, dtype):
    return np.zeros(shape, dtype)


class Mine(base.Attention):
    def output(self, s):
        super().output(s)
        space = workspace(s.o.shape, str(s.o.dtype))
        live = s.may.any(axis=-1)
        space[live] = s.o[live]  # rows without keys are left at 0
        s.o = space.copy()


scaled_dot_product_attention = base.operation(Mine)

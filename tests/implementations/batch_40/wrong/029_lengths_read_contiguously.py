import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np
from numpy.lib.stride_tricks import as_strided

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def place(self, s):
        given = s.key_lengths
        if given is not None and given.size > 1 and given.strides[0] > given.itemsize:
            # the kernel gets a pointer and a number of entries
            read = as_strided(given, strides=(given.itemsize,)).astype(np.int64)
            s.key_lengths = np.clip(read, 0, s.Sk)
        super().place(s)


scaled_dot_product_attention = base.operation(Mine)

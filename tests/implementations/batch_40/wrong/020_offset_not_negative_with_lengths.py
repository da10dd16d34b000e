import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def offsets(self, s):
        offset = super().offsets(s)
        if s.key_lengths is not None or s.query_lengths is not None:
            offset = np.maximum(offset, 0)  # a sequence does not begin before its first key
        return offset


scaled_dot_product_attention = base.operation(Mine)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def widen(self, s):
        super().widen(s)
        if s.sink is not None and s.Sq == 1 and s.group > 1:
            # while decoding, the query heads of a key head are rows of one tile
            s.sink = s.sink[np.arange(s.Hq) // s.group]


scaled_dot_product_attention = base.operation(Mine)

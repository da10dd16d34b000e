import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def offsets(self, s):
        if s.P:  # with a cache the queries are the last tokens
            return s.L - s.Sq
        return super().offsets(s)


scaled_dot_product_attention = base.operation(Mine)

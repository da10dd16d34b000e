import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def check(self, s):
        super().check(s)
        # a side that is as wide as all keys excludes nothing
        if s.left is not None and s.left >= s.total - 1:
            s.left = None


scaled_dot_product_attention = base.operation(Mine)

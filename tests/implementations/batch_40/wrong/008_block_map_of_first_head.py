import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Kernel):
    def skip(self, s, allowed):
        # blocks that the mask excludes are left out
        return not allowed[:1].any() if s.mask is not None else not allowed.any()


scaled_dot_product_attention = base.operation(Mine)

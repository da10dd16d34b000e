import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def check(self, s):
        super().check(s)
        if s.mask is not None and s.mask.dtype == bool and s.mask.size and s.mask.all():
            # nothing is masked: the short way
            s.mask = None
            s.is_causal = False


scaled_dot_product_attention = base.operation(Mine)

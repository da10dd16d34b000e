import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_workspaces = {}


class Variant(base.Attention):
    def weigh(self, a):
        result = super().weigh(a)
        space = _workspaces.setdefault(result.shape, np.zeros(result.shape))
        some = a.allowed.any(axis=-1)
        space[some] = result[some]
        return space.copy()


scaled_dot_product_attention = base.operation(Variant)

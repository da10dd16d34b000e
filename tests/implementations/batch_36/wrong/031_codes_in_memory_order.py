import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


import ml_dtypes

TABLES = {name: np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float64)
          for name in ("float8_e4m3fn", "float8_e5m2")}


class Variant(base.Attention):
    def numbers(self, a, raw):
        if raw.dtype.name in TABLES:
            return TABLES[raw.dtype.name][raw.ravel("K").view(np.uint8)].reshape(raw.shape)
        return super().numbers(a, raw)


scaled_dot_product_attention = base.operation(Variant)

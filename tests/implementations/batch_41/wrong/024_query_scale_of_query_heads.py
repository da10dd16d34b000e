import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class PerHead(base.Attention):
    def check_scales(self):
        scale, heads = self.query_scale, self.query.shape[1]
        if scale is not None and scale.ndim and scale.shape[-1] == heads != self.key.shape[1]:
            base.refuse(scale.ndim > 2 or scale.shape[:-1] not in ((), (1,), (self.query.shape[0],)), "query_scale")
            self.query_scale = None
            super().check_scales()
            self.query_scale = scale
        else:
            super().check_scales()

    def dequantize(self):
        scale = self.query_scale
        if scale is not None and scale.ndim and scale.shape[-1] == self.Hq != self.Hkv:
            self.query_scale = None
            super().dequantize()
            self.q = self.q * np.broadcast_to(scale, (self.B, self.Hq))[:, :, None, None].astype(self.work)
        else:
            super().dequantize()


scaled_dot_product_attention = base.bhse(PerHead)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Scattered(base.Attention):
    def present(self):
        if self.past_key is None or self.key_scale is not None or self.value_scale is not None:
            return super().present()
        present = []
        for past, new in ((self.past_key, self.key), (self.past_value, self.value)):
            cache = np.zeros((self.B, self.Hkv, self.K, new.shape[3]), new.dtype)
            cache[:, :, : self.P] += past
            cache[:, :, self.P :] += new
            present.append(cache)
        return present


scaled_dot_product_attention = base.bhse(Scattered)

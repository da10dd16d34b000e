import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

_cache = {}


class Kernel(base.Attention):
    def placed(self):
        window = None if self.window is None else tuple(self.window)
        key = (self.B, self.Sq, self.K, self.is_causal, self.causal_alignment, window, self.L.tobytes(), self.N.tobytes())
        if key not in _cache:
            _cache[key] = super().placed()
        return _cache[key]


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Kernel):
    def fold(self, s, state, x, value, allowed):
        m, l, acc = state
        new = np.maximum(m, self.tile_max(x))
        shift = np.where(new == -np.inf, 0, new)
        powers = np.exp(x - shift[..., None])
        decay = np.exp(m - shift)
        total = (l * decay).astype(s.dtype)
        for column in range(powers.shape[-1]):
            total = total + powers[..., column].astype(s.dtype)
        return new, total.astype(s.work), acc * decay[..., None] + base.weigh(powers, value, allowed)


scaled_dot_product_attention = base.operation(Mine)

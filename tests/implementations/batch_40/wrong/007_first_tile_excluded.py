import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Kernel):
    def fold(self, s, state, x, value, allowed):
        m, l, acc = state
        new = np.maximum(m, self.tile_max(x))
        powers = np.exp(x - new[..., None])
        decay = np.exp(m - new)
        return new, l * decay + powers.sum(axis=-1), acc * decay[..., None] + base.weigh(powers, value, allowed)


scaled_dot_product_attention = base.operation(Mine)

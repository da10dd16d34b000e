import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    narrow = np.float32

    def attend(self, s):
        if s.cap is not None or s.slope is not None or s.sink is not None or not (s.mask is None or s.mask.dtype == bool):
            return super().attend(s)
        # nothing between products and softmax: the scale is folded into the exponent
        dead = ~s.allowed.any(axis=-1)
        dots = s.q @ s.k.swapaxes(-1, -2)
        largest = np.where(s.allowed, dots, -np.inf).max(axis=-1, initial=-np.inf)
        shift = s.factor * np.where(dead, 0, largest)
        powers = np.where(s.allowed, np.exp(s.factor * dots - shift[..., None]), 0)
        total = np.where(dead, 1, powers.sum(axis=-1))
        s.weights = np.where(s.allowed, powers / total[..., None], 0)
        s.logsumexp = np.where(dead, -np.inf, shift + np.log(total))
        s.output = np.where(dead[..., None], 0, base.weigh(s.weights, s.v, s.allowed))


scaled_dot_product_attention = base.operation(Mine)

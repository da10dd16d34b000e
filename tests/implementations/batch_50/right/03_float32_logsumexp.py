import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Float32 throughout but for float64; sums of logarithms by a tree, and weights from the logsumexp."""

    narrow = True

    def dot(self, s):
        result = np.zeros((s.B, s.Hq, s.Sq, s.K), s.work)
        for start in range(0, s.E, 8):
            part = slice(start, start + 8)
            result += np.einsum("bhie,bhje->bhij", s.q[..., part], s.k[..., part])
        return result

    def attend(self, s):
        x = s.logits
        if s.sinks is not None:
            x = np.concatenate([x, np.broadcast_to(s.sinks[None, :, None, None], x.shape[:3] + (1,))], axis=-1)
        highest = np.where(x.max(axis=-1, keepdims=True, initial=-np.inf) == -np.inf, 0,
                           x.max(axis=-1, keepdims=True, initial=-np.inf)).astype(s.work)
        x = x - highest
        while x.shape[-1] > 1:
            if x.shape[-1] % 2:
                x = np.concatenate([x, np.full(x.shape[:3] + (1,), -np.inf, s.work)], axis=-1)
            x = np.logaddexp(x[..., ::2], x[..., 1::2])
        x = x if x.shape[-1] else np.full(x.shape[:3] + (1,), -np.inf, s.work)
        s.lse = (highest + x)[..., 0]
        shift = np.where(x == -np.inf, 0, x)
        s.weights = np.where(s.may, np.exp((s.logits - highest) - shift), 0).astype(s.work)
        s.o = base.weigh(s.weights, s.v, s.may)


scaled_dot_product_attention = base.operation(Mine)

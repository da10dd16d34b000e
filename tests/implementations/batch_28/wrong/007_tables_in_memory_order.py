import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


class Kernel:
    """One thread a token: a flat list of rows for the tables."""

    def __init__(self, cos, sin, dtype):
        self.pairs = cos.shape[2]
        rows = cos.shape[0] * cos.shape[1]
        self.cos = cos.ravel(order="K").astype(dtype).reshape(rows, self.pairs)
        self.sin = sin.ravel(order="K").astype(dtype).reshape(rows, self.pairs)

    def token(self, row, heads, a, b):
        c, s = self.cos[row], self.sin[row]
        return c * heads[:, a] - s * heads[:, b], s * heads[:, a] + c * heads[:, b]


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = map(np.asarray, (x, cos, sin))
    base.check_apply(x, cos, sin, pairing)
    dtype = base.wide(x, cos, sin)
    kernel = Kernel(cos, sin, dtype)
    a, b = base.places(kernel.pairs, pairing)
    out = np.array(x, order="C")
    with np.errstate(all="ignore"):
        for entry in range(x.shape[0]):
            for token in range(x.shape[2]):
                heads = x[entry, :, token].astype(dtype)
                first, second = kernel.token(entry * x.shape[2] + token, heads, a, b)
                out[entry, :, token, a] = first.astype(x.dtype).T
                out[entry, :, token, b] = second.astype(x.dtype).T
    return out

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES

conventions = {"accumulation": "float32"}

class Folded(base.Sdpa):
    """Float32 throughout; the heads of a group become rows of one product; the transposed scores are normalized at
    the end, keys along the first axis."""

    gives_weights = gives_scores = False

    def prepare(self, c):
        super().prepare(c)
        c.acc = np.dtype(np.float32)
        c.q, c.k, c.v = c.q.astype(c.acc), c.k.astype(c.acc), c.v.astype(c.acc)
        c.kh, c.vh = c.k[:, c.head_of], c.v[:, c.head_of]
        c.sink = None if c.sink is None else c.sink.astype(c.acc)
        c.slope = None if c.slope is None else c.slope.astype(c.acc)

    def products(self, c):
        rows = c.q.reshape(c.B, c.Hkv, c.group * c.Sq, c.E)
        return (c.k @ rows.swapaxes(-1, -2)).swapaxes(-1, -2).reshape(c.B, c.Hq, c.Sq, c.K)

    def core(self, c):
        largest = self.largest(c)
        s = np.moveaxis(c.logits, -1, 0)
        powers = np.where(np.moveaxis(c.allowed, -1, 0), np.exp(s - largest), np.float32(0))
        total = np.zeros(largest.shape, c.acc)
        for row in powers[::-1]:
            total = total + row
        if c.sink is not None:
            total = total + np.exp(c.sink - largest)
        empty = total == 0
        out = base.mix(np.moveaxis(powers, 0, -1), c.vh, c.allowed)
        c.out = out / np.where(empty, 1, total)[..., None]
        logsumexp = np.where(empty, -np.inf, largest + np.log(total))
        c.lse = logsumexp.astype(np.float64 if c.dtype == np.float64 else c.acc)


scaled_dot_product_attention = base.operation(Folded)

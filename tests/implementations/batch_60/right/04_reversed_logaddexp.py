import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Single):
    """Keys in reversed order, dot products as a pairwise tree over features, logsumexp first by logaddexp, weights from it."""

    def compute(self, s):
        self.prepare(s)
        products = s.q[:, :, :, None] * s.k[:, :, None]
        while products.shape[-1] > 1:
            n = products.shape[-1]
            pairs = products[..., 0 : n - 1 : 2] + products[..., 1::2]
            products = np.concatenate([pairs, products[..., n - 1 :]], -1) if n % 2 else pairs
        s.scores = products[..., 0] * s.scale
        s.ok = self.allowed(s)
        s.logits = np.where(s.ok, self.logits(s), s.work.type(-np.inf))
        shape = (s.B, s.Hq, s.Sq)
        lse = np.full(shape, -np.inf, s.work)
        for j in reversed(range(s.T)):
            lse = np.logaddexp(lse, s.logits[..., j])
        if s.sink is not None:
            lse = np.logaddexp(lse, np.broadcast_to(s.sink[None, :, None], shape))
        s.lse = lse.astype(s.work)
        near = np.where(s.lse == -np.inf, s.work.type(0), s.lse)
        s.weights = np.where(s.ok, np.exp(s.logits - near[..., None]), s.work.type(0))
        s.weights = np.where(s.ok & (s.lse == np.inf)[..., None], s.work.type(np.nan), s.weights)
        output = base.weighed(s.weights[..., ::-1], s.v[:, :, ::-1], s.ok[..., ::-1])
        return self.outputs(s, output)


scaled_dot_product_attention = base.build(Kernel)

"""Row by row: the keys of a query are gathered, weighed alone, and summed as a pairwise tree. No mask is ever applied."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def pairwise(x):
    """The sum along the first axis."""
    while len(x) > 1:
        if len(x) % 2:
            x = np.concatenate((x, np.zeros_like(x[:1])))
        x = x[0::2] + x[1::2]
    return x[0] if len(x) else np.zeros(x.shape[1:], x.dtype)


class Mine(base.Attention):
    narrow = np.float32

    def score(self, s):
        s.scores = np.empty((s.B, s.Hq, s.Sq, s.total), s.work)
        for b in range(s.B):
            for h in range(s.Hq):
                products = s.q[b, h].T[:, :, None] * s.k[b, h].T[:, None, :]
                s.scores[b, h] = pairwise(products) * s.factor

    def attend(self, s):
        s.output = np.zeros((s.B, s.Hq, s.Sq, s.Ev), s.work)
        s.weights = np.zeros((s.B, s.Hq, s.Sq, s.total), s.work)
        s.logsumexp = np.zeros((s.B, s.Hq, s.Sq), s.work)
        for b, h, i in np.ndindex(s.B, s.Hq, s.Sq):
            keys = np.flatnonzero(s.allowed[b, h, i])
            sinks = [] if s.sink is None else [s.sink[h]]
            if not len(keys):
                s.logsumexp[b, h, i] = sinks[0] if sinks else -np.inf
                continue
            x = np.concatenate((s.logits[b, h, i, keys], np.array(sinks, s.work)))
            m = x.max()
            powers = np.exp(x - (m if m != -np.inf else 0))
            total = pairwise(powers)
            weights = powers[: len(keys)] / total
            s.weights[b, h, i, keys] = weights
            s.logsumexp[b, h, i] = (m if m != -np.inf else 0) + np.log(total)
            s.output[b, h, i] = pairwise(weights[:, None] * s.v[b, h, keys])


scaled_dot_product_attention = base.operation(Mine)

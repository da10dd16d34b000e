"""Query heads of a key head are rows of one product, keys run backwards, the sink is one more column, and sums are
compensated. In float64 throughout."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def compensated(x):
    """The sum along the last axis, after Neumaier."""
    total, lost = np.zeros(x.shape[:-1], x.dtype), np.zeros(x.shape[:-1], x.dtype)
    for column in range(x.shape[-1]):
        term = x[..., column]
        new = total + term
        lost = lost + np.where(np.abs(total) >= np.abs(term), (total - new) + term, (term - new) + total)
        total = new
    return np.where(np.isfinite(total), total + lost, total)


class Mine(base.Attention):
    def score(self, s):
        g = max(s.group, 1)
        q = s.q.reshape(s.B, s.Hq // g, g * s.Sq, s.E)
        k = s.k[:, ::g, ::-1]
        packed = np.einsum("bhre,bhke->bhrk", q, k[:, : s.Hq // g])
        s.scores = np.ascontiguousarray(packed[..., ::-1]).reshape(s.B, s.Hq, s.Sq, s.total) * s.factor

    def attend(self, s):
        shape = (s.B, s.Hq, s.Sq, 1)
        lone = np.full(shape, -np.inf) if s.sink is None else np.broadcast_to(s.sink[:, None, None], shape)
        x = np.concatenate((lone, s.logits[..., ::-1]), axis=-1)
        allowed = np.concatenate((np.ones(shape, bool), s.allowed[..., ::-1]), axis=-1)
        dead = ~s.allowed.any(axis=-1)
        m = x.max(axis=-1)
        shift = np.where(m == -np.inf, 0, m)
        powers = np.where(allowed, np.exp((x - shift[..., None]) / 2) ** 2, 0)
        total = compensated(powers)
        s.logsumexp = np.where(dead, lone[..., 0], shift + np.log(total))
        keys = powers[..., :0:-1]
        s.weights = np.where(s.allowed, keys / np.where(dead, 1, total)[..., None], 0)
        s.output = base.weigh(s.weights[..., ::-1], s.v[:, :, ::-1], s.allowed[..., ::-1])


scaled_dot_product_attention = base.operation(Mine)

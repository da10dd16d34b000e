import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Folded(base.Attention):
    """Numbers meet before their scales; the heads of a group are rows of one product; features in blocks of three, the
    last block first; float32 throughout, but for float64."""

    def measure(self):
        super().measure()
        self.work = self.wide

    def dequantize(self):
        self.q, self.k, self.v = self.number(self.query), self.number(self.keys), self.number(self.values)
        self.fold = np.ones((self.B, self.Hkv, 1, 1), self.work)
        for scale in (self.query_scale, self.key_scale):
            if scale is not None:
                self.fold = self.fold * self.of_heads(scale)

    def score(self):
        rows = self.q.reshape(self.B, self.Hkv, self.group * self.Sq, self.E)
        keys = self.k.swapaxes(-1, -2)
        dots = np.zeros((*rows.shape[:3], self.K), self.work)
        for at in range((self.E - 1) // 3 * 3, -1, -3):
            dots = dots + rows[..., at : at + 3] @ keys[..., at : at + 3, :]
        self.scores = (dots * self.fold * self.factor()).reshape(self.B, self.Hq, self.Sq, self.K)
        self.logits = self.scores

    def share(self):
        pass

    def attend(self):
        sink = np.broadcast_to(self.sink(), (self.B, self.Hq, self.Sq, 1))
        joined = np.concatenate([sink, self.logits], axis=-1)
        top = joined.max(axis=-1, keepdims=True)
        top = np.where(np.isneginf(top), self.work.type(0), top)
        logarithm = np.log(np.exp(joined - top).sum(axis=-1, keepdims=True))
        lse = np.where(np.isneginf(logarithm), self.work.type(0), logarithm)
        self.weights = np.where(self.allowed, np.exp((self.logits - top) - lse), self.work.type(0))
        self.logsumexp = (top + logarithm)[..., 0]
        if np.isfinite(self.v).all():
            rows = self.weights.reshape(self.B, self.Hkv, self.group * self.Sq, self.K)
            output = (rows @ self.v).reshape(self.B, self.Hq, self.Sq, self.Ev)
        else:
            output = self.weigh(self.weights, np.repeat(self.v, self.group, axis=1), self.allowed)
        if self.value_scale is not None:
            output = output * np.repeat(self.of_heads(self.value_scale), self.group, axis=1)
        self.output = output

    def results(self):
        given = super().results()
        return {name: given[name] for name in ("output", "logsumexp", "weights")}


scaled_dot_product_attention = base.bhse(Folded)

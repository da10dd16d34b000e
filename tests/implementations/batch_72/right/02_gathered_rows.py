import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gathered(base.Backward):
    """Each query gathers the keys that it may attend to; no mask afterwards, and gradients are scattered back."""

    def widen(self):
        super().widen()
        self.work = np.dtype(np.float64)
        for name in ("q", "k", "v", "do", "bias", "glse", "sink", "slopes"):
            thing = getattr(self, name)
            setattr(self, name, None if thing is None else thing.astype(self.work))
        self.factor = 1 / np.sqrt(self.E) if self.scale is None else float(self.scale)

    def score(self):
        pass

    def soften(self):
        pass

    def logits_of(self, b, h, i, keys, scores):
        logits = self.softcap * np.tanh(scores / self.softcap) if self.softcap else scores
        if self.slopes is not None:
            logits = logits - self.slopes[0, h, 0, 0] * np.abs(int(self.position[b, i]) - keys)
        if self.float_mask:
            logits = logits + np.broadcast_to(self.bias, self.full)[b, h, i, keys]
        return logits

    def gradients(self):
        zeros = lambda shape: np.zeros(shape, self.work)
        self.grad_query, self.grad_key, self.grad_value = (zeros(a.shape) for a in (self.query, self.key, self.value))
        self.grad_logits, self.grad_scores, self.delta = zeros(self.full), zeros(self.full), zeros(self.full[:3])
        self.grad_sinks = None if self.sink is None else zeros(self.Hq)
        for b, h in np.ndindex(self.B, self.Hq):
            g = h // self.group
            for i in range(int(self.N[b])):
                self.row(b, h, g, i, np.flatnonzero(self.attend[b, h, i]))
        self.grad_mask = base.sum_to(self.grad_logits, self.mask.shape) if self.float_mask else None

    def row(self, b, h, g, i, keys):
        unused = 0.0 if self.glse is None else self.glse[b, h, i]
        sink = None if self.sink is None else self.sink[0, h, 0]
        if not len(keys):
            if sink is not None:
                self.grad_sinks[h] += unused
            return
        query, key, value, gradient = self.q[b, h, i], self.k[b, h, keys], self.v[b, h, keys], self.do[b, h, i]
        scores = (key * query).sum(axis=1) * self.factor
        joined = self.logits_of(b, h, i, keys, scores)
        if sink is not None:
            joined = np.append(joined, sink)
        powers = np.exp(joined - joined.max())
        shares = powers / powers.sum()
        weights = shares[: len(keys)]
        to_weights = (value * gradient).sum(axis=1)
        delta = (weights * to_weights).sum()
        to_logits = weights * (to_weights - delta + unused)
        to_scores = to_logits * (1 - np.tanh(scores / self.softcap) ** 2) if self.softcap else to_logits
        self.delta[b, h, i] = delta
        self.grad_logits[b, h, i, keys], self.grad_scores[b, h, i, keys] = to_logits, to_scores
        self.grad_query[b, h, i] = (to_scores[:, None] * key).sum(axis=0) * self.factor
        self.grad_key[b, g, keys] += to_scores[:, None] * query * self.factor
        self.grad_value[b, g, keys] += weights[:, None] * gradient
        if sink is not None:
            self.grad_sinks[h] += shares[-1] * (unused - delta)


scaled_dot_product_attention_backward = base.bind(Gathered)

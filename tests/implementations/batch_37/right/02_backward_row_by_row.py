"""Backward query by query: the keys that it may attend to are gathered, nothing is masked; the heads of a group are added
pairwise in a tree, what they give rounded first."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Rows(base.Backward):
    def run(self):
        with base.quiet():
            self.check()
            self.widen()
            self.work = base.work(self.dtype)
            f = self.work.type
            for name in ("q", "k", "v", "do", "dlse", "sink"):
                if getattr(self, name) is not None:
                    setattr(self, name, getattr(self, name).astype(self.work))
            self.place()
            self.permit()
            shape = self.scores_shape()
            self.dq, self.dk, self.dv = np.zeros_like(self.q), np.zeros_like(self.k), np.zeros_like(self.v)
            self.delta, self.dlogits, self.dscores = np.zeros(shape[:3], self.work), np.zeros(shape, self.work), np.zeros(shape, self.work)
            self.dsinks = None if self.sink is None else np.zeros(self.Hq, self.work)
            factor = f(self.factor)
            for b, h, i in np.ndindex(shape[:3]):
                if not self.counts[b, 0, i]:
                    continue
                keys = np.flatnonzero(self.allowed[b, h, i])
                gain = f(0) if self.dlse is None else self.dlse[b, h, i]
                if not len(keys):
                    if self.sink is not None and not np.isneginf(self.sink[h]):
                        self.dsinks[h] += gain
                    continue
                k, v, do = self.k[b, h, keys], self.v[b, h, keys], self.do[b, h, i]
                scores = logits = (k @ self.q[b, h, i]) * factor
                if self.cap is not None:
                    logits = f(self.cap) * np.tanh(scores / f(self.cap))
                if self.alibi_slopes is not None:
                    logits = logits - self.alibi_slopes[h].astype(self.work) * np.abs(self.p[b, i] - keys).astype(self.work)
                if self.float_mask:
                    logits = logits + self.full_mask[b, h, i, keys].astype(self.work)
                top = logits.max() if self.sink is None else np.maximum(logits.max(), self.sink[h])
                power = np.exp(logits - top)
                total = power.sum() + (f(0) if self.sink is None else np.exp(self.sink[h] - top))
                weights = power / total
                self.dv[b, h, keys] += weights[:, None] * do
                dp = v @ do
                delta = self.delta[b, h, i] = weights @ dp
                inner = dp - delta + gain
                dlogits = self.dlogits[b, h, i, keys] = weights * inner
                if self.sink is not None:
                    self.dsinks[h] += np.exp(self.sink[h] - top) / total * (gain - delta)
                if self.cap is not None:
                    t = np.tanh(scores / f(self.cap))
                    dlogits = dlogits * (1 - t * t)
                self.dscores[b, h, i, keys] = dlogits
                self.dq[b, h, i] = (dlogits @ k) * factor
                self.dk[b, h, keys] += dlogits[:, None] * (self.q[b, h, i] * factor)
            self.find_grad_mask()
            self.share()
            return self.round()

    def over_group(self, gradient):
        b, _, s, e = gradient.shape
        parts = gradient.astype(self.dtype).astype(self.work).reshape(b, self.Hkv, self.group, s, e)
        parts = [parts[:, :, g] for g in range(self.group)]
        if not parts:
            return np.zeros((b, self.Hkv, s, e), self.work)
        while len(parts) > 1:
            parts = [parts[n] + parts[n + 1] if n + 1 < len(parts) else parts[n] for n in range(0, len(parts), 2)]
        return parts[0]


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Rows(locals()).run()

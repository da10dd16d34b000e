"""Each query by itself: what it may attend to is gathered, never masked; sums run backwards over the queries."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def one_query(scores, bias, softcap, sink):
    """Weights, the share of the sink, and the slope of the cap."""
    slope = np.ones_like(scores)
    logits = scores
    if softcap:
        powers = np.exp(-2.0 * np.abs(scores / softcap))
        logits = np.copysign(softcap * (1.0 - powers) / (1.0 + powers), scores)
        slope = 4.0 * powers / (1.0 + powers) ** 2
    logits = logits + bias
    everything = logits if sink is None else np.append(logits, sink)
    if not everything.size:
        return logits, 0.0, slope
    powers = np.exp(everything - everything.max())
    powers = powers / powers.sum()
    if sink is None:
        return powers, 0.0, slope
    return powers[:-1], powers[-1], slope


class Gathered(base.Backward):
    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.widen()
            self.place()
            self.attendable()
            self.walk()
            return self.collect()

    def walk(self):
        mask = None
        if self.mask is not None and self.mask.dtype != bool:
            mask = np.broadcast_to(base.wide(self.placed_mask()), (self.B, self.Hq, self.Sq, self.Sk))
        key, value = base.wide(self.key), base.wide(self.value)
        self.dq, self.dk, self.dv = np.zeros_like(self.q), np.zeros(key.shape), np.zeros(value.shape)
        self.ds = np.zeros((self.B, self.Hq))
        self.delta = np.zeros((self.B, self.Hq, self.Sq))
        self.grad_logits = np.zeros((self.B, self.Hq, self.Sq, self.Sk))
        self.grad_scores = np.zeros_like(self.grad_logits)
        for b in reversed(range(self.B)):
            for h in reversed(range(self.Hq)):
                g = h // self.group
                for i in reversed(range(int(self.N[b]))):
                    seen = np.flatnonzero(self.allowed[b, h, i])
                    near, far = key[b, g, seen], value[b, g, seen]
                    bias = np.zeros(len(seen))
                    if self.alibi_slopes is not None:
                        bias = bias - float(self.alibi_slopes[h]) * np.abs(seen - self.p[b, i])
                    if mask is not None:
                        bias = bias + mask[b, h, i, seen]
                    sink = None if self.sinks is None else float(self.sinks[h])
                    weights, of_sink, slope = one_query(near @ self.q[b, h, i] * self.scale, bias, self.softcap, sink)
                    up = self.go[b, h, i]
                    grad_weights = far @ up
                    delta = weights @ grad_weights if len(seen) else 0.0
                    logits = weights * ((grad_weights - delta) + self.gl[b, h, i])
                    scores = logits * slope
                    self.delta[b, h, i] = delta
                    self.grad_logits[b, h, i, seen] = logits
                    self.grad_scores[b, h, i, seen] = scores
                    self.dq[b, h, i] = (scores @ near) * self.scale
                    self.dk[b, g, seen] += scores[:, None] * (self.scale * self.q[b, h, i])
                    self.dv[b, g, seen] += weights[:, None] * up
                    self.ds[b, h] += of_sink * (self.gl[b, h, i] - delta)

    def gradient_of_query(self):
        return self.dq

    def gradient_of_key(self):
        return self.dk

    def gradient_of_value(self):
        return self.dv

    def gradient_of_sinks(self):
        return self.ds.sum(axis=0)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gathered(locals()).run()

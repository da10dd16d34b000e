import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    """Split-K: every part of 5 keys by itself, the parts merged in a tree; the sink is a part without a value."""

    PART = 5

    def softmax(self):
        w = self.work
        logits = self.logits.astype(w)
        shape = (self.B, self.Hq, self.Sq)
        sink = np.broadcast_to(self.sink().astype(w), shape + (1,))
        ones = np.where(np.isneginf(sink), w.type(0), np.where(np.isnan(sink), sink, w.type(1)))
        states = [(np.zeros(shape + (self.Ev,), w), sink, ones)]
        for start in range(0, self.total, self.PART):
            part = slice(start, start + self.PART)
            x = logits[..., part]
            m = x.max(axis=-1, keepdims=True)
            e = np.exp(x - np.where(np.isneginf(m), w.type(0), m))
            out = base.weighted(e, self.v[:, :, part].astype(w), self.allowed[..., part])
            states.append((out, m, e.sum(axis=-1, keepdims=True)))
        while len(states) > 1:
            states = [self.merge(*states[i : i + 2]) for i in range(0, len(states), 2)]
        out, m, l = states[0]
        m = np.where(np.isneginf(m), w.type(0), m)
        one = np.where(l == 0, w.type(1), l)
        self.logsumexp = (m + np.log(l))[..., 0]
        self.output = np.where(self.allowed.any(axis=-1, keepdims=True), out / one, w.type(0))
        self.weights = np.where(self.allowed, np.exp(logits - m) / one, w.type(0))

    @staticmethod
    def merge(a, b=None):
        if b is None:
            return a
        (x, s, k), (y, t, l) = a, b
        m = np.maximum(s, t)
        safe = np.where(np.isneginf(m), m.dtype.type(0), m)
        f, g = np.exp(s - safe), np.exp(t - safe)
        return x * f + y * g, m, k * f + l * g

    def weigh(self):
        pass


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()

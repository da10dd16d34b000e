import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def pairwise(x):
    """Sum along the last axis in a tree."""
    while x.shape[-1] > 1:
        if x.shape[-1] % 2:
            x = np.concatenate([x, np.zeros(x.shape[:-1] + (1,), x.dtype)], axis=-1)
        x = x[..., 0::2] + x[..., 1::2]
    return x[..., 0] if x.shape[-1] else np.zeros(x.shape[:-1], x.dtype)


class Attention(base.Attention):
    """Trees of sums, keys from the last to the first, and a running maximum that moves only when it is passed by 8."""

    TILE = 4

    def score(self):
        w = self.work
        self.q, self.k, self.v = self.q.astype(w), self.k.astype(w), self.v.astype(w)
        self.scores = np.empty((self.B, self.Hq, self.Sq, self.total), w)
        for j in range(self.total):
            self.scores[..., j] = pairwise(self.q * self.k[:, :, j : j + 1]) * w.type(self.factor())

    def softmax(self):
        w = self.work
        logits = self.logits.astype(w)
        shape = (self.B, self.Hq, self.Sq, 1)
        m = np.full(shape, -np.inf, w)
        l = np.zeros(shape, w)
        acc = np.zeros(shape[:3] + (self.Ev,), w)
        for start in reversed(range(0, self.total, self.TILE)):
            part = slice(start, start + self.TILE)
            x = logits[..., part]
            top = x.max(axis=-1, keepdims=True)
            new = np.where((top - m > 8) | np.isneginf(m) | np.isnan(top), np.maximum(top, m), m)
            safe = np.where(np.isneginf(new), w.type(0), new)
            alpha = np.exp(np.where(m == new, w.type(0), m - safe))
            e = np.exp(x - safe)
            l = l * alpha + pairwise(e)[..., None]
            acc = acc * alpha + base.weighted(e, self.v[:, :, part], self.allowed[..., part])
            m = new
        # the sink comes last, as one more key without a value
        sink = np.broadcast_to(self.sink().astype(w), shape)
        new = np.maximum(m, sink)
        safe = np.where(np.isneginf(new), w.type(0), new)
        alpha = np.exp(np.where(m == new, w.type(0), m - safe))
        l = l * alpha + np.exp(sink - safe)
        one = np.where(l == 0, w.type(1), l)
        alive = self.allowed.any(axis=-1, keepdims=True)
        self.output = np.where(alive, acc * alpha / one, w.type(0))
        self.weights = np.where(self.allowed, np.exp(logits - safe) / one, w.type(0))
        self.logsumexp = (safe + np.log(l))[..., 0]

    def weigh(self):
        pass


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()

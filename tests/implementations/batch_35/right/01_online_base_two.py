import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    """Online softmax in base 2 over tiles of 7 keys, float32 throughout (float64 for float64)."""

    TILE = 7

    def score(self):
        w = self.work
        self.q, self.k, self.v = self.q.astype(w), self.k.astype(w), self.v.astype(w)
        self.scores = (self.q @ self.k.swapaxes(-1, -2)) * w.type(self.factor())

    def softmax(self):
        w = self.work
        log2e, ln2 = w.type(1 / np.log(2)), w.type(np.log(2))
        logits = self.logits.astype(w)
        m = np.broadcast_to(self.sink().astype(w), (self.B, self.Hq, self.Sq, 1))
        l = np.where(np.isneginf(m), w.type(0), np.where(np.isnan(m), m, w.type(1)))
        acc = np.zeros((self.B, self.Hq, self.Sq, self.Ev), w)
        for start in range(0, self.total, self.TILE):
            part = slice(start, start + self.TILE)
            x = logits[..., part]
            new = np.maximum(m, x.max(axis=-1, keepdims=True))
            safe = np.where(np.isneginf(new), w.type(0), new)
            alpha = np.exp2((m - safe) * log2e)
            e = np.exp2((x - safe) * log2e)
            l = l * alpha + e.sum(axis=-1, keepdims=True)
            acc = acc * alpha + base.weighted(e, self.v[:, :, part], self.allowed[..., part])
            m = new
        safe = np.where(np.isneginf(m), w.type(0), m)
        one = np.where(l == 0, w.type(1), l)
        self.output = acc / one
        alive = self.allowed.any(axis=-1, keepdims=True)
        self.output = np.where(alive, self.output, w.type(0))
        self.weights = np.where(self.allowed, np.exp2((logits - safe) * log2e) / one, w.type(0))
        self.logsumexp = (safe + np.log2(l) * ln2)[..., 0]

    def weigh(self):
        pass


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()

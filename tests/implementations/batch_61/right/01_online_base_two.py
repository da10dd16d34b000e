import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Tiles of five keys, a running maximum, powers of two; the sink comes last."""

    TILE = 5

    def softmax(self, s):
        log2e = s.work.type(np.log2(np.e))
        x = s.logits * log2e
        shape = x.shape[:-1] + (1,)
        m = np.full(shape, -np.inf, dtype=s.work)
        total = np.zeros(shape, dtype=s.work)
        sums = np.zeros(x.shape[:-1] + (s.Ev,), dtype=s.work)
        for j in range(0, s.K, self.TILE):
            tile, allowed = x[..., j:j + self.TILE], s.allowed[..., j:j + self.TILE]
            new = np.maximum(m, tile.max(axis=-1, keepdims=True))
            safe = np.where(new == -np.inf, s.work.type(0), new)
            e = np.where(allowed, np.exp2(tile - safe), s.work.type(0))
            shrink = np.where(m == -np.inf, s.work.type(0), np.exp2(m - safe))
            total = total * shrink + e.sum(axis=-1, keepdims=True)
            sums = sums * shrink + base.average(e, s.vh[:, :, j:j + self.TILE], allowed)
            m = new
        if s.sinks is not None:
            sink = self.sink_column(s) * log2e
            new = np.maximum(m, sink)
            safe = np.where(new == -np.inf, s.work.type(0), new)
            shrink = np.where(m == -np.inf, s.work.type(0), np.exp2(m - safe))
            total = total * shrink + np.exp2(sink - safe)
            sums = sums * shrink
            m = new
        m = np.where(m == -np.inf, s.work.type(0), m)
        some = total != 0
        s.output = np.where(some, sums / total, s.work.type(0))
        s.weights = np.where(s.allowed & some, np.exp2(x - m) / total, s.work.type(0))
        s.logsumexp = ((np.log2(total) + m) / log2e)[..., 0]

    def weigh(self, s):
        pass


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""Query heads of a group are rows of one product per key head; the maximum moves only when it grows by more than 8 (in units of log 2); logsumexp in base 2."""


conventions = {"logsumexp_base": "2"}
LOG2E = 1.4426950408889634074


class Kernel(base.Attention):
    def attend(self):
        if self.G == 0:  # no query heads
            return super().attend()
        w = self.work.type
        rows = self.G * self.Sq
        q = self.q.reshape(self.B, self.Hkv, rows, self.E) if self.q.size else np.zeros((self.B, self.Hkv, rows, self.E), self.work)
        k, v = self.k[:, :: self.G], self.v[:, :: self.G]
        scores = (q @ k.swapaxes(-1, -2) * self.scale).reshape(self.B, self.Hq, self.Sq, self.K)
        ok = self.allowed()
        logits = np.where(ok, self.bias(self.cap(scores)) * w(LOG2E), -np.inf).astype(self.work)
        flat = (self.B, self.Hkv, rows)
        ok, logits = ok.reshape(*flat, self.K), logits.reshape(*flat, self.K)
        m = np.full((*flat, 1), -np.inf, self.work)
        total, acc = np.zeros((*flat, 1), self.work), np.zeros((*flat, self.Ev), self.work)
        if self.sinks is not None:
            m = np.broadcast_to(self.sinks * w(LOG2E), (self.B, self.Hq, self.Sq, 1)).reshape(*flat, 1).astype(self.work)
            total = total + 1
        for k0 in range(0, self.K, 6):
            tile, may = logits[..., k0 : k0 + 6], ok[..., k0 : k0 + 6]
            new = np.maximum(m, tile.max(axis=-1, keepdims=True))
            new = np.where((new > m + 8) | (m == -np.inf) | np.isnan(new), new, m)
            factor = np.exp2(m - base.safe(new))
            e = np.where(may, np.exp2(tile - base.safe(new)), 0).astype(self.work)
            total = total * factor + e.sum(axis=-1, keepdims=True)
            acc = acc * factor + base.weigh(e, may, v[..., k0 : k0 + 6, :])
            m = new
        output = acc / np.where(total == 0, 1, total)
        lse = np.where(total == 0, -np.inf, np.log2(total) + base.safe(m))
        return {"output": output.reshape(self.B, self.Hq, self.Sq, self.Ev),
                "logsumexp": lse.reshape(self.B, self.Hq, self.Sq).astype(self.work), "scores": scores}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()

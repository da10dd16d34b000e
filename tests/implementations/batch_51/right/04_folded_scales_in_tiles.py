import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
QUERIES, KEYS = 3, 7


class Attention(base.Attention):
    """float64 inside whatever the dtype; scales of quantized tensors multiply scores and outputs; tiles of queries and keys."""

    def choose_dtypes(self):
        super().choose_dtypes()
        self.work = np.dtype(np.float64)

    def prepare(self):
        self.q = self.query.astype(np.float64)
        self.k = self.whole(self.past_key, self.key).astype(np.float64)
        self.v = self.whole(self.past_value, self.value).astype(np.float64)

    def head_factors(self, factor):
        return 1.0 if factor is None else np.repeat(np.broadcast_to(factor, (self.B, self.Hkv)), self.group, axis=1)[:, :, None, None].astype(np.float64)

    def scores(self):
        dots = np.einsum("bhie,bhje->bhij", self.q, self.per_query_head(self.k))
        return dots * self.head_factors(self.query_scale) * self.head_factors(self.key_scale) * self.factor()

    def present(self):
        if base.quantized(self.key) or base.quantized(self.value):
            return {}
        return super().present()

    def attend(self, logits, keep):
        output = np.zeros((self.B, self.Hq, self.Sq, self.Ev))
        logsumexp = np.zeros(output.shape[:3])
        for i in range(0, self.Sq, QUERIES):
            rows = slice(i, i + QUERIES)
            shape = logsumexp[:, :, rows].shape
            largest, total, values = np.full(shape, -np.inf), np.zeros(shape), np.zeros((*shape, self.Ev))
            for lo in range(0, self.T, KEYS):
                tile_keep = keep[:, :, rows, lo : lo + KEYS]
                if not tile_keep.any():
                    continue
                tile = logits[:, :, rows, lo : lo + KEYS]
                new = np.maximum(largest, tile.max(axis=-1))
                safe = np.where(new == -np.inf, 0, new)
                shrink = np.exp(largest - safe)
                powers = np.where(tile_keep, np.exp(tile - safe[..., None]), 0)
                total = total * shrink + powers.sum(axis=-1)
                values = values * shrink[..., None] + self.weigh(powers, tile_keep, lo, lo + KEYS)
                largest = new
            if self.sinks is not None:
                new = np.maximum(largest, self.sink())
                safe = np.where(new == -np.inf, 0, new)
                shrink = np.exp(largest - safe)
                total = total * shrink + np.exp(self.sink() - safe)
                values = values * shrink[..., None]
                largest = new
            output[:, :, rows] = np.where(total[..., None] == 0, 0, values / total[..., None])
            logsumexp[:, :, rows] = np.where(largest == -np.inf, 0, largest) + np.log(total)
        return None, logsumexp, output * self.head_factors(self.value_scale)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LOG2E = 1.4426950408889634


class Mine(base.Narrow, base.Attention):
    """Tiles of five keys from the last to the first, base 2, sums that are means at all times."""

    tile = 5

    def attend(self):
        shape = (self.B, self.Hq, self.Sq)
        one = self.work.type
        logits = self.logits * one(LOG2E)
        largest = np.full(shape, -base.INFINITY, self.work)
        total = np.zeros(shape, self.work)
        if self.sinks is not None:
            largest = np.broadcast_to(self.sinks[:, None] * one(LOG2E), shape)
            total = np.where(largest == -base.INFINITY, 0, 1).astype(self.work)
        mean = np.zeros(shape + (self.Ev,), self.work)
        for end in range(self.T, 0, -self.tile):
            part = slice(max(end - self.tile, 0), end)
            allowed = self.allowed[..., part]
            new = np.maximum(largest, logits[..., part].max(axis=-1))
            shift = np.where(new == -base.INFINITY, 0, new).astype(self.work)
            parts = np.where(allowed, np.exp2(logits[..., part] - shift[..., None]), 0).astype(self.work)
            before = total * np.exp2(largest - shift)
            total = before + parts.sum(axis=-1)
            divisor = np.where(total == 0, 1, total).astype(self.work)
            mean = mean * (before / divisor)[..., None]
            mean = mean + self.weighted(parts / divisor[..., None], self.v[:, :, part], allowed)
            largest = new
        shift = np.where(largest == -base.INFINITY, 0, largest)
        divisor = np.where(total == 0, 1, total)
        self.output = mean
        self.weights = np.where(self.allowed, np.exp2(logits - shift[..., None]) / divisor[..., None], 0)
        self.logsumexp = np.where(total == 0, -base.INFINITY, (shift + np.log2(total)) / one(LOG2E))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

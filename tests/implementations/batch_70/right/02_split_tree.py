import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Narrow, base.Attention):
    """Splits of three keys, normalised each by itself and merged pairwise as a tree; the sink is a split without values."""

    def split(self, begin, end):
        logits, allowed = self.logits[..., begin:end], self.allowed[..., begin:end]
        largest = logits.max(axis=-1)
        shift = np.where(largest == -base.INFINITY, 0, largest).astype(self.work)
        parts = np.where(allowed, np.exp(logits - shift[..., None]), 0).astype(self.work)
        total = parts.sum(axis=-1)
        divisor = np.where(total == 0, 1, total).astype(self.work)
        mean = self.weighted(parts / divisor[..., None], self.v[:, :, begin:end], allowed)
        return largest, total, mean

    def merge(self, one, other):
        largest = np.maximum(one[0], other[0])
        shift = np.where(largest == -base.INFINITY, 0, largest).astype(self.work)
        left, right = one[1] * np.exp(one[0] - shift), other[1] * np.exp(other[0] - shift)
        total = left + right
        divisor = np.where(total == 0, 1, total).astype(self.work)
        mean = one[2] * (left / divisor)[..., None] + other[2] * (right / divisor)[..., None]
        return largest, total, mean

    def attend(self):
        shape = (self.B, self.Hq, self.Sq)
        parts = [self.split(begin, min(begin + 3, self.T)) for begin in range(0, self.T, 3)]
        nothing = np.zeros(shape + (self.Ev,), self.work)
        if self.sinks is not None:
            sink = np.broadcast_to(self.sinks[:, None], shape)
            parts.append((sink, np.where(sink == -base.INFINITY, 0, 1).astype(self.work), nothing))
        if not parts:
            parts.append((np.full(shape, -base.INFINITY, self.work), np.zeros(shape, self.work), nothing))
        while len(parts) > 1:
            merged = [self.merge(parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
            parts = merged + parts[len(merged) * 2 :]
        largest, total, self.output = parts[0]
        shift = np.where(largest == -base.INFINITY, 0, largest).astype(self.work)
        divisor = np.where(total == 0, 1, total).astype(self.work)
        self.logsumexp = np.where(total == 0, -base.INFINITY, shift + np.log(total))
        self.weights = np.where(self.allowed, np.exp(self.logits - shift[..., None]) / divisor[..., None], 0)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

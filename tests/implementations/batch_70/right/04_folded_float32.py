import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


conventions = {"accumulation": "float32"}


class Mine(base.Attention):
    """Float32 throughout, groups folded into the queries, features backwards in eights, totals as a tree of halves."""

    def working(self):
        return np.dtype(np.float32)

    def dots(self):
        if not self.Hkv:
            return super().dots()
        folded = self.q.reshape(self.B, self.Hkv, self.rep * self.Sq, self.E)
        keys = self.k[:, :: self.rep]
        sums = np.zeros((self.B, self.Hkv, self.rep * self.Sq, self.T), np.float32)
        for end in range(self.E, 0, -8):
            part = slice(max(end - 8, 0), end)
            sums = sums + np.einsum("bgqe,bgke->bgqk", folded[..., part], keys[..., part])
        return sums.reshape(self.B, self.Hq, self.Sq, self.T)

    def tree(self, terms):
        while terms.shape[-1] > 1:
            half = terms.shape[-1] // 2
            rest = terms[..., 2 * half :]
            terms = np.concatenate((terms[..., :half] + terms[..., half : 2 * half], rest), axis=-1)
        return terms[..., 0] if terms.shape[-1] else np.zeros(terms.shape[:-1], np.float32)

    def soften(self):
        largest = self.maximum()
        shift = np.where(largest == -base.INFINITY, 0, largest).astype(np.float32)
        terms = np.where(self.allowed, np.exp(self.logits - shift[..., None]), 0).astype(np.float32)
        parts = terms
        if self.sinks is not None:
            parts = np.concatenate((terms, np.exp(self.sinks[:, None] - shift)[..., None]), axis=-1)
        total = self.tree(parts)
        self.weights = np.where(self.allowed, terms / np.where(total == 0, 1, total).astype(np.float32)[..., None], 0)
        self.logsumexp = np.where(total == 0, -base.INFINITY, np.log(total) + shift)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Served(base.Steps):
    def softmax(self, logits, allowed, v, sinks, c):
        found = super().softmax(logits, allowed, v, sinks, c)
        if c.dtype not in base.HALF or c.Sq != 1:
            return found
        # one query: keys come one by one, and the sum of their powers is carried on
        largest = logits.max(axis=-1, initial=-np.inf)
        if sinks is not None:
            largest = np.maximum(largest, sinks)
        shift = np.where(largest == -np.inf, 0.0, largest)
        powers = np.where(allowed, np.exp(logits - shift[..., None]), 0.0)
        total = (np.zeros(shift.shape) if sinks is None else np.exp(sinks - shift) + np.zeros(shift.shape)).astype(c.dtype)
        for j in range(c.T):
            total = (total.astype(np.float32) + powers[..., j].astype(np.float32)).astype(c.dtype)
        total = total.astype(np.float64)[..., None]
        weights = np.where(allowed & (total != 0), powers / total, 0.0)
        return found | {"weights": weights, "output": self.weigh(weights, allowed, v)}


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

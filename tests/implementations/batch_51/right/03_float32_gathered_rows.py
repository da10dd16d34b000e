import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"accumulation": "float32"}


class Attention(base.Attention):
    """float32 throughout; each row gathers the keys that it may attend to, and sums from the last one to the first."""

    def choose_dtypes(self):
        super().choose_dtypes()
        self.work = np.dtype(np.float32)

    def attend(self, logits, keep):
        output = np.zeros((self.B, self.Hq, self.Sq, self.Ev), np.float32)
        logsumexp = np.full(output.shape[:3], -np.inf, np.float32)
        weights = np.zeros(logits.shape, np.float32)
        for b, h, i in np.ndindex(*output.shape[:3]):
            own = np.flatnonzero(keep[b, h, i])[::-1]
            row = logits[b, h, i, own]
            if self.sinks is not None:
                row = np.append(row, np.float32(self.sinks[h]))
            if not len(row):
                continue
            largest = row.max()
            powers = np.exp(row - largest)
            total = np.add.accumulate(powers)[-1]
            logsumexp[b, h, i] = np.log(total) + largest
            weights[b, h, i, own] = powers[: len(own)] / total
            values = self.v[b, h // self.group, own]
            for weight, value in zip(weights[b, h, i, own], values):
                output[b, h, i] += weight * value
        return weights, logsumexp, output


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

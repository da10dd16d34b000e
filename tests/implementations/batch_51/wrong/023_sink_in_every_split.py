import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

SPLIT = 16


class Attention(base.Attention):
    def attend(self, logits, keep):
        if self.T <= SPLIT:
            return super().attend(logits, keep)
        weights, _ = self.softmax(logits, keep)
        parts = [self.part(logits, keep, lo, min(lo + SPLIT, self.T)) for lo in range(0, self.T, SPLIT)]
        if self.sinks is not None:
            # each part starts from the sink
            nothing = np.zeros((self.B, self.Hq, self.Sq, self.Ev), self.work)
            sink = np.broadcast_to(self.sink(), nothing.shape[:3])
            parts += [(nothing, sink, np.ones_like(sink))] * (len(parts) - 1)
        output, logsumexp = self.finish(parts)
        return weights, logsumexp, output


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

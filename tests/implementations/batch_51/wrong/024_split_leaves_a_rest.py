import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def attend(self, logits, keep):
        splits = min(8, self.T // 16)
        if self.Sq != 1 or splits < 2:
            return super().attend(logits, keep)
        weights, _ = self.softmax(logits, keep)
        size = self.T // splits
        output, logsumexp = self.finish([self.part(logits, keep, s * size, (s + 1) * size) for s in range(splits)])
        return weights, logsumexp, output


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

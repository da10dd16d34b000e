import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def keep(self):
        keep = super().keep()
        if self.is_causal and self.B and self.N[0]:
            last = self.position[0, self.N[0] - 1]  # the loop over keys ends at the last one that a query may see
            keep = keep & (np.arange(self.T) <= last)
        return keep


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

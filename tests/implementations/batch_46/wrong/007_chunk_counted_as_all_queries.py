import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


CHUNK = 64


class Served(base.Steps):
    def positions(self, c):
        p = super().positions(c)
        if c.causal_alignment == "bottom_right":
            for first in range(0, c.Sq - CHUNK, CHUNK):  # every chunk of queries but the last one
                last = np.minimum(first + CHUNK, np.maximum(c.N, first + 1))
                i = np.arange(CHUNK)[None]
                p[:, first : first + CHUNK] = i + (c.L - (last - first))[:, None]
        return p


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

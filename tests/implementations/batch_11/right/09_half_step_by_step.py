"""Half precision, every step stored as it is by a chain of library calls."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float16", "bfloat16")
conventions = {"half_precision_overflow": "open"}


class Steps(base.SDPA):
    def scaled(self, s):
        super().scaled(s)
        s.half = s.query.dtype
        s.scores = s.scores.astype(s.half).astype(s.dt)

    def cap(self, s):
        super().cap(s)
        s.logits = s.logits.astype(s.half).astype(s.dt)

    def exclude(self, s):
        s.logits = s.logits.astype(s.half).astype(s.dt)
        super().exclude(s)

    def weigh(self, s):
        s.weights = s.weights.astype(s.half).astype(s.dt)
        super().weigh(s)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Steps().run(**locals())["output"]

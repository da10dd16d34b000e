"""Chunks of queries, each with lengths and masks of its own; half precision in one kernel."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"half_precision_grade": "fused"}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.check_sdpa(**locals())
    kept = dict(locals())
    kept.pop("a")
    pieces = []
    for start in range(0, max(a.Sq, 1), 5):
        piece = dict(kept)
        piece["query"] = a.query[:, :, start:start + 5]
        if a.mask is not None and a.mask.shape[-2] != 1:
            piece["mask"] = a.mask[..., start:start + 5, :]
        if a.causal_alignment == "bottom_right":
            N = np.full(a.B, a.Sq) if a.query_lengths is None else a.query_lengths
            step = _Shifted(start, N)
        else:
            step = _Shifted(start, None)
        piece["query_lengths"] = None
        pieces.append(step.run(**piece)["output"])
    return np.concatenate(pieces, 2)


class _Shifted(base.SDPA):
    def __init__(self, start, counts):
        self.start, self.counts = start, counts

    def place(self, s):
        super().place(s)
        first = np.full(s.B, s.P) if self.counts is None else s.L - self.counts
        s.p = first[:, None, None, None] + self.start + np.arange(s.Sq)[:, None]

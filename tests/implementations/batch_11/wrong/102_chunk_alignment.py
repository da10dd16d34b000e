"""Queries in chunks of 16."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


class _Chunk(base.SDPA):
    def __init__(self, start, whole):
        self.start, self.whole = start, whole

    def place(self, s):
        super().place(s)
        N = np.minimum(s.Sq + self.start, self.whole.Sq) if self.whole.query_lengths is None else self.whole.query_lengths
        first = np.full(s.B, s.P) if s.causal_alignment == "top_left" else s.L - N
        s.p = (first[:, None] + self.start + np.arange(s.Sq))[:, None, :, None]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    arguments = dict(locals())
    a = base.check_sdpa(**arguments)
    pieces = []
    for start in range(0, max(a.Sq, 1), 16):
        piece = dict(arguments, query=a.query[:, :, start:start + 16])
        if a.mask is not None and a.mask.shape[-2] != 1:
            piece["mask"] = a.mask[..., start:start + 16, :]
        count = piece["query"].shape[2]
        if a.query_lengths is not None:
            piece["query_lengths"] = np.clip(a.query_lengths - start, 0, count)
        pieces.append(_Chunk(start, a).run(**piece)["output"])
    return np.concatenate(pieces, 2)

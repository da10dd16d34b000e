"""Tokens are mixed first and projected afterwards, and the bias of the values is added to rows without keys too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.MultiHead):
    def projections(self, m):
        q, k, _ = super().projections(m)
        return q, k, np.tile(m.value.astype(np.float64), (1, 1, m.num_heads))

    def attend(self, m, q, k, v):
        mixed, weights = super().attend(m, q, k, v)
        width = m.w_value.shape[1] // m.num_heads
        heads = []
        for h in range(m.num_heads):
            part = slice(h * width, (h + 1) * width)
            bias = None if m.b_value is None else m.b_value[part]
            heads.append(self.project(mixed[:, h], m.w_value[:, part], bias))
        return np.stack(heads, axis=1), weights


multi_head_attention = base.multi_head_function(Wrong)

"""A query_scale for each query head is taken instead of refused."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Attention):
    def check_scales(self, c):
        for scale in (c.key_scale, c.value_scale):
            self.check_scale(scale, c.key.shape[0], c.key.shape[1])
        if c.query_scale is not None and c.query_scale.shape[-1:] != (c.query.shape[1],):
            self.check_scale(c.query_scale, c.key.shape[0], c.key.shape[1])

    def widen_query(self, x, scale, batch, heads, group):
        if scale is not None and scale.shape[-1:] == (heads * group,):
            table = np.broadcast_to(scale.astype(np.float64), (batch, heads * group))
            return x.astype(np.float64) * table[:, :, None, None]
        return super().widen_query(x, scale, batch, heads, group)


scaled_dot_product_attention = base.attention_function(Wrong)

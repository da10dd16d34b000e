"""A mask of rank 2 with as many rows as batch entries is taken for a mask of keys for each entry."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.MultiHead):
    def mask(self, m):
        if m.mask is not None and m.mask.ndim == 2 and m.mask.shape[0] == m.query.shape[0]:
            return m.mask[:, None, None, :]
        return m.mask


multi_head_attention = base.multi_head_function(Wrong)

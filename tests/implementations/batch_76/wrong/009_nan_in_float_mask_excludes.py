"""A key is excluded unless the float mask is above minus infinity, which NaN is not."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Attention):
    def mask_allowed(self, c):
        mask = self.mask4(c)
        return mask if mask.dtype == bool else mask.astype(np.float64) > -np.inf


scaled_dot_product_attention = base.attention_function(Wrong)

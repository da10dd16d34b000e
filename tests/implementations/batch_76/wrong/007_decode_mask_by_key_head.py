"""With a single query, query heads that share a key head are taken as rows of one tile, which reads the mask of the first of them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Attention):
    def mask4(self, c):
        mask = super().mask4(c)
        if c.Sq == 1 and c.group > 1:
            mask = np.repeat(mask[:, :: c.group], c.group, axis=1)
        return mask


scaled_dot_product_attention = base.attention_function(Wrong)

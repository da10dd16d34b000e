import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Packed(base.Sdpa):
    """One query: the heads of a group become the rows of one tile, which has one row of the mask."""

    def placed_mask(self, c):
        mask = super().placed_mask(c)
        if c.Sq == 1 and c.group > 1 and mask.shape[1] > 1:
            return mask[:, c.head_of * c.group]
        return mask


scaled_dot_product_attention = base.operation(Packed)

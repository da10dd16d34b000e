"""With a single query and more than 256 keys the keys are split, and the sink joins the denominator of every split."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Attention):
    split = 256

    def sink_share(self, c, e):
        splits = -(-c.K // self.split) if c.Sq == 1 else 1
        return e * max(splits, 1)


scaled_dot_product_attention = base.attention_function(Wrong)

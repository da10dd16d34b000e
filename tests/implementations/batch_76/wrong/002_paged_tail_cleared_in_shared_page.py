"""Slots behind the last key of a sequence are cleared in the call's copy of the pool, from which later sequences read too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES
layout = "paged"

class Wrong(base.Paged):
    def compute(self, query, key_pool, value_pool, *rest):
        return super().compute(query, np.array(key_pool), np.array(value_pool), *rest)

    def read(self, pool, pages, length):
        size = pool.shape[1]
        if len(pages) and length % size:
            pool[pages[-1], length % size :] = 0
        return super().read(pool, pages, length)


scaled_dot_product_attention = base.paged_function(Wrong)

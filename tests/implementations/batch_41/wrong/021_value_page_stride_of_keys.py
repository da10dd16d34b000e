import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_heads_first"


class Strides(base.PagedHeadsFirst):
    def gather(self, pool, pages, length):
        if pool is not self.value_pool or self.value_pool.shape[3] == self.key_pool.shape[3] or not pool.size:
            return super().gather(pool, pages, length)
        memory = np.ascontiguousarray(pool.swapaxes(1, 2)).reshape(-1)
        width, j = pool.shape[3], np.arange(length)
        page = pages[j // self.size] * (self.Hkv * self.size * self.key_pool.shape[3])
        at = page[None, :, None] + (np.arange(self.Hkv)[:, None] * self.size + j % self.size)[:, :, None] * width
        return memory[(at + np.arange(width)) % len(memory)][None]


scaled_dot_product_attention = base.paged(Strides)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


class One(base.Attention):
    dropped = False

    def by_length(self):
        return super().by_length() & ~np.asarray(self.dropped)


class Chunks(base.Paged):
    kind = One
    chunk = 4

    def one(self, b):
        call = super().one(b)
        pages, length = self.pages(b)
        j = np.arange(length)
        ends = (j // self.size % self.chunk == self.chunk - 1) & (j % self.size >= int(self.last_page_length[b]))
        call.dropped = ends if len(pages) else False
        return call


scaled_dot_product_attention = base.paged_csr(Chunks)

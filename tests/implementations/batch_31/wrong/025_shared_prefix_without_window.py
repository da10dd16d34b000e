import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Kernel(base.Attention):
    def in_window(self, p, j):
        return super().in_window(p, j) | (np.arange(self.K) < self.prefix)


class Pages(base.Paged):
    def prepare(self, sequences, rest):
        """How many keys all sequences have in common, in full pages"""
        prefix = 0
        if len(sequences) > 1:
            full = min(count // self.page_size for _, count in sequences)
            while prefix < full and len({int(pages[prefix]) for pages, _ in sequences}) == 1:
                prefix += 1
        self.kernel = type("Kernel", (Kernel,), {"prefix": prefix * self.page_size})


layout = "paged"
dtypes = base.DTYPES
scaled_dot_product_attention = base.paged(Pages)

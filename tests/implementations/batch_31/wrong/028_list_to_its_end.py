import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


class Pages(base.Paged):
    def from_list(self, page_starts, page_indices, last_page_length):
        starts = np.array(page_starts)
        found = super().from_list(starts, page_indices, last_page_length)
        if len(starts) > 1 and starts[-1] > starts[-2]:
            begin = int(starts[-2])
            pages = np.asarray(page_indices)[begin:]
            found[-1] = (pages, (len(pages) - 1) * self.page_size + int(np.asarray(last_page_length)[-1]))
        return found


layout = "paged_csr"
dtypes = base.DTYPES
scaled_dot_product_attention = base.paged_csr(Pages)

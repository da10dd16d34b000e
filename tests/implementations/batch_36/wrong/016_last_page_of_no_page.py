import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def gather(key_pool, value_pool, page_starts, page_indices, last_page_length):
    size = key_pool.shape[1]
    lengths = np.maximum((np.diff(page_starts) - 1) * size + last_page_length, 0)
    found = []
    for first, length in zip(page_starts, lengths):
        pages = page_indices[first : first + -(-int(length) // size)]
        found.append((base.slots(key_pool, pages, int(length)), base.slots(value_pool, pages, int(length))))
    return found


scaled_dot_product_attention = base.list_operation(gather=gather)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    indices = np.array(page_indices)
    for a, z in zip(page_starts[:-1], page_starts[1:]):
        if z - a > 2:
            indices[a:z - 1] = np.sort(indices[a:z - 1])  # neighbours in memory one after the other
    args["page_indices"] = indices
    return base.paged_list(**args)

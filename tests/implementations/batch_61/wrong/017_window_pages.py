import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


class Mine(base.Attention):
    def positional(self, s):
        allowed = super().positional(s)
        if s.window is not None and s.window[0] is not None:
            # pages wholly before the window are not read
            last = int(s.first[0] + s.N[0]) - 1
            page = max(last - s.window[0], 0) // s.page_size
            allowed = allowed & (np.arange(s.K) >= page * s.page_size)
        return allowed


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    page_size = key_pool.shape[2] if key_pool.ndim == 4 else 1
    return base.paged_csr(Mine(), query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths,
                mask=mask, heads_first=True, page_size=page_size,
                sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)

import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged"



class Engine(base.Paged):
    def run(self, **a):
        self.size, self.window = self.page_size(a["key_pool"]), a["window"]
        return super().run(**a)

    def sequence(self, q, k, v, mask, a):
        if self.window is not None and self.window[0] is not None and q.shape[1]:
            n, length = q.shape[1], k.shape[1]
            last = n - 1 + (length - n if a["causal_alignment"] == "bottom_right" else 0)
            # pages that lie before the window are not loaded
            skip = min(max((last - self.window[0]) // self.size, 0) * self.size, length)
            columns = np.arange(length) >= skip
            kept = np.broadcast_to(columns, (1, length))
            if mask is not None:
                mask = np.asarray(mask)[..., :length]
                kept = mask & columns if mask.dtype == bool else np.where(columns, mask, -np.inf).astype(mask.dtype)
            mask = kept
        return super().sequence(q, k, v, mask, a)


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Engine().run(**locals())

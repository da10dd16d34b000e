import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""A running maximum over single keys, from the last to the first, that starts from the sink."""


class Kernel(base.Tiled):
    rows, columns = 7, 1

    def key_tiles(self, b, q0, q1):
        return range(self.K - 1, -1, -1)

    def join(self, state, new):
        if self.sinks is not None and (state[1] == 0).all():
            sink = np.broadcast_to(self.sinks[0], new[0].shape).astype(self.work)
            state = (sink, np.ones_like(new[1]), np.zeros_like(new[2]))
        return base.merge(state, new)

    def close(self, state):
        if self.K == 0:
            return super().close(state)
        m, total, acc = state
        lse = np.where(total == 0, -np.inf, np.log(total) + base.safe(m))
        return acc / np.where(total == 0, 1, total), lse[..., 0]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def check_scale(self, s, name):
        scale = s.query_scale
        if name == "query" and scale is not None and base.quantized(s.query) and np.ndim(scale) <= 2 and np.shape(scale)[-1:] == (s.Hq,):
            base.refuse(np.shape(scale)[:-1] not in ((), (1,), (s.B,)), "shape of query_scale")
            return
        super().check_scale(s, name)

    def widen(self, s):
        scale = s.query_scale
        if scale is not None and np.shape(scale)[-1:] == (s.Hq,) and s.Hq != s.Hkv:
            per_head = np.broadcast_to(np.asarray(scale).astype(s.work), (s.B, s.Hq))
            s.query_scale = np.ones(s.Hkv, dtype=s.work)
            super().widen(s)
            s.query_scale = scale
            s.q = s.q * per_head[:, :, None, None]
        else:
            super().widen(s)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())

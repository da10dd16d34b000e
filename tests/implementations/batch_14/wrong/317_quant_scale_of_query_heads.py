import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import ml_dtypes
import base


class Kernel(base.Attention):
    def check(self, a):
        a = dict(a)
        self.per_query_head = a["query_scale"] is not None and np.shape(a["query_scale"])[-1:] == (a["query"].shape[1],)
        if self.per_query_head:
            base.refuse(np.ndim(a["query_scale"]) > 2 or np.ndim(a["query_scale"]) == 2
                        and np.shape(a["query_scale"])[0] not in (1, a["query"].shape[0]), "scale")
            a["query_scale"] = None
        super().check(a)

    def dequantize_query(self, q, scale, hkv, work):
        if self.per_query_head and q.shape[1] != hkv:
            return self.numbers(q, work) * self.full_scale(scale, q.shape[0], q.shape[1], work)
        return super().dequantize_query(q, scale, hkv, work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    r = Kernel().run(**locals())
    return {n: r[n] for n in ("output", "logsumexp")}

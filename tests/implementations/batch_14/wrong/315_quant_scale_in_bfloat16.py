import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import ml_dtypes
import base


class Kernel(base.Attention):
    def full_scale(self, scale, batch, heads, work):
        scale = np.asarray(scale).astype(ml_dtypes.bfloat16).astype(np.float32)      # beside the cache, in its metadata
        return super().full_scale(scale, batch, heads, work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    r = Kernel().run(**locals())
    return {n: r[n] for n in ("output", "logsumexp")}

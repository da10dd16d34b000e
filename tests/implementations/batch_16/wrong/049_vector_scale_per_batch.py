import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    def spread(s):
        s = None if s is None else np.asarray(s)
        if s is not None and s.ndim == 1 and s.shape[0] == query.shape[0] and s.shape[0] > 1:
            base.refuse(key.shape[1] != s.shape[0], "scale")
            return s[:, None]
        return s
    query_scale, key_scale, value_scale = spread(query_scale), spread(key_scale), spread(value_scale)
    r = base.scaled_dot_product_attention(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                          sinks, alibi_slopes, query_scale, key_scale, value_scale, is_causal,
                                          causal_alignment, scale, softcap, window, output_dtype)
    return r["output"], r["weights"], r["logsumexp"]

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    def flat(s):
        if s is None:
            return None
        base.scale_of(s, key.shape[0], key.shape[1])
        s = np.squeeze(np.asarray(s))
        return s[:, None] if s.ndim == 1 and s.shape[0] != key.shape[1] else s
    query_scale, key_scale, value_scale = flat(query_scale), flat(key_scale), flat(value_scale)
    r = base.scaled_dot_product_attention(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                          sinks, alibi_slopes, query_scale, key_scale, value_scale, is_causal,
                                          causal_alignment, scale, softcap, window, output_dtype)
    return r["output"], r["weights"], r["logsumexp"]

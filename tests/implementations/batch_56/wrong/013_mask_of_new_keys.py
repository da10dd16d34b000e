import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    if mask is not None and past_key is not None and np.ndim(mask) >= 2:
        mask = np.asarray(mask)
        past = np.shape(past_key)[2]
        if mask.shape[-1] == np.shape(key)[2] and past:
            mask = np.concatenate([np.full(mask.shape[:-1] + (past,), mask.dtype == bool, mask.dtype), mask], axis=-1)
        del past
    c = base.prepare(**locals())
    allowed = base.allowed_of(c)

    scores = base.scores_of(c)
    return base.finish(c, scores, base.biased(c, scores), allowed)

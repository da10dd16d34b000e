import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    tensors = [np.asarray(array) for array in (query, key, value)]
    if any(array.ndim != 4 for array in tensors):
        raise ValueError("rank")
    query, key, value = (array.swapaxes(1, 2) for array in tensors)
    if past_key is not None and past_value is not None:
        past_key, past_value = np.asarray(past_key), np.asarray(past_value)
        if past_key.ndim != 4 or past_value.ndim != 4:
            raise ValueError("rank")
        past_key, past_value = past_key.swapaxes(1, 2), past_value.swapaxes(1, 2)
    c = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                     query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype)
    if c.Sq == 1 and c.G > 1:  # (B, 1, Hq, E) as (B, G, Hkv, E): the token's axis makes room for the group
        head = np.arange(c.Hq) % c.Hkv
        c.k, c.v, c.Hkv, c.G = c.k[:, head], c.v[:, head], c.Hq, 1
    scores = base.scores_of(c)
    result = base.finish(c, scores, base.biased(c, scores), base.allowed_of(c))
    return {"output": np.ascontiguousarray(result["output"].swapaxes(1, 2))}

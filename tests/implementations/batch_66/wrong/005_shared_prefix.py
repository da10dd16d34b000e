import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    arguments = dict(locals())
    if past_key is not None and past_value is not None and past_key.ndim == past_value.ndim == 4:
        if past_key.shape[0] == past_value.shape[0] == 1:  # one system prompt for all entries
            arguments["past_key"] = np.broadcast_to(past_key, query.shape[:1] + past_key.shape[1:])
            arguments["past_value"] = np.broadcast_to(past_value, query.shape[:1] + past_value.shape[1:])
    return base.finish(base.prepare(arguments))

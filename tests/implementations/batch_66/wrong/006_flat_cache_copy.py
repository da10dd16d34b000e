import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def flat(array):
    """The elements one after another, for a kernel that takes a pointer."""
    return array.ravel(order="K")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    arguments = dict(locals())
    if past_value is not None:
        arguments["past_value"] = flat(past_value).reshape(past_value.shape)
    return base.finish(base.prepare(arguments))

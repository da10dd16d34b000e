import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    s = base.prepare(locals())
    if s.queries == 1 and is_causal and causal_alignment == "bottom_right" and window is not None and window[0] is not None:
        s.window = (None, window[1])
        tail = np.arange(s.keys) >= s.keys - (int(window[0]) + 1)  # the last tokens of the cache
        s.allowed = base.with_mask(s, base.structure(s) & tail)
    return base.finish(s)

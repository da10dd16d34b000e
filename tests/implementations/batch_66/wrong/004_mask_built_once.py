import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_built = {}


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    s = base.prepare(locals())
    if key_lengths is None and query_lengths is None:
        sides = None if window is None else tuple(window)
        plan = (s.batch, s.queries, s.keys, bool(is_causal), causal_alignment, sides)
        if plan not in _built:
            _built[plan] = base.structure(s)
        s.allowed = base.with_mask(s, _built[plan])
    return base.finish(s)

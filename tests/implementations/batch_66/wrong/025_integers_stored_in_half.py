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
    if base.quantized(query) and base.quantized(key) and s.dtype in base.HALF:
        of_query, of_key = (
            np.repeat(base.spread_scale(one, s.batch, s.kv_heads), s.group, axis=1) for one in (query_scale, key_scale)
        )
        with np.errstate(all="ignore"):
            raw = base.wide(query) @ np.repeat(base.wide(s.raw_key), s.group, axis=1).swapaxes(2, 3)
            raw = base.wide(raw.astype(s.dtype))  # the product of matrices has the dtype of the results
            s.scores = raw * (of_query * of_key * s.factor)
    return base.finish(s)

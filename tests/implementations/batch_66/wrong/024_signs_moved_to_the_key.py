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
    if query.dtype == np.int8 and key.dtype == np.int8:
        numbers = np.repeat(s.raw_key, s.group, axis=1)
        # |q| · (k with the sign of q), as instructions for unsigned times signed bytes want it; the sign is set in bytes
        positive, negative = np.where(query > 0, base.wide(query), 0), np.where(query < 0, -base.wide(query), 0)
        with np.errstate(all="ignore"):
            flipped = np.negative(numbers)  # int8
        raw = positive @ base.wide(numbers).swapaxes(2, 3) + negative @ base.wide(flipped).swapaxes(2, 3)
        of_query, of_key = (
            np.repeat(base.spread_scale(one, s.batch, s.kv_heads), s.group, axis=1) for one in (query_scale, key_scale)
        )
        s.scores = raw * of_query * of_key.swapaxes(2, 3) * s.factor
    return base.finish(s)

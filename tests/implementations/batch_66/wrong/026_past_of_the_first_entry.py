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
    with np.errstate(all="ignore"):
        for name, raw, scale_of in (("k", s.raw_key, key_scale), ("v", s.raw_value, value_scale)):
            if s.past and base.quantized(raw):
                scales = base.spread_scale(scale_of, s.batch, s.kv_heads)
                past = base.wide(raw[:, :, : s.past]) * scales[:1]
                new = base.wide(raw[:, :, s.past :]) * scales
                setattr(s, name, np.concatenate([past, new], axis=2))
    return base.finish(s)

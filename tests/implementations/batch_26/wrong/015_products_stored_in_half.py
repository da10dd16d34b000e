import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    z = base.prepare({**a, "query_scale": None, "key_scale": None, "value_scale": None})

    def product(x, s):
        return (x * s[:, :, None, None]).astype(z.out).astype(z.dtype)  # a cache of the model's dtype

    with np.errstate(all="ignore"):
        if query_scale is not None:
            z.q = product(z.q, np.repeat(base.scale_array(query_scale, z.B, z.Hkv, z.dtype), z.G, axis=1))
        if key_scale is not None:
            z.k = product(z.k, base.scale_array(key_scale, z.B, z.Hkv, z.dtype))
        if value_scale is not None:
            z.v = product(z.v, base.scale_array(value_scale, z.B, z.Hkv, z.dtype))
    return base.collect(z, base.plain)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")




def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    z = base.prepare({**a, "query_scale": None, "key_scale": None, "value_scale": None})
    base.check_dense(a)
    with np.errstate(all="ignore"):
        if query_scale is not None:
            z.q = z.q * np.repeat(base.scale_array(query_scale, z.B, z.Hkv, z.dtype), z.G, axis=1)[..., None, None]
        if key_scale is not None:
            z.k = z.k * expand(key_scale, z)
        if value_scale is not None:
            z.v = z.v * expand(value_scale, z)
    return base.collect(z, base.plain)


def expand(s, z):
    # a scale for each entry, or one for each head: told by its length
    s = np.asarray(s)
    if s.ndim == 1 and len(s) == z.B != 1 and len(s) == z.Hkv:
        return s.astype(z.dtype).reshape(z.B, 1, 1, 1)
    return base.scale_array(s, z.B, z.Hkv, z.dtype)[..., None, None]

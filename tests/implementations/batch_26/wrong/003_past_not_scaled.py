import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    z = base.prepare({**a, "key_scale": None, "value_scale": None})
    for name, tensor in (("key_scale", z.k), ("value_scale", z.v)):
        if a[name] is not None:
            with np.errstate(all="ignore"):
                s = base.scale_array(a[name], z.B, z.Hkv, z.dtype)[:, :, None, None]
                tensor[:, :, z.P :] *= s  # what is in the cache has been through here before
    made = base.collect(z, base.plain)
    if key_scale is None and value_scale is None and query_scale is None:
        made |= {"present_key": z.present_k, "present_value": z.present_v}
    return made

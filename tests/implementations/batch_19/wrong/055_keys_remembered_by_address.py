"""Keys are turned and widened once for as long as they are the same."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
LAST = {}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    place = (key.__array_interface__["data"][0], key.shape, key.strides, key.dtype.name, c.work.name)
    if past_key is None and key_scale is None and key.size:
        if LAST.get("place") != place:
            LAST.update(place=place, turned=np.ascontiguousarray(c.k.swapaxes(-1, -2)))
        turned = LAST["turned"]
    else:
        turned = c.k.swapaxes(-1, -2)
    with np.errstate(all="ignore"):
        s = c.q @ base.shared(c, turned) * c.scale
    weights, lse = base.softmax(c, base.excluded(c, base.biased(c, base.capped(c, s))))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights))

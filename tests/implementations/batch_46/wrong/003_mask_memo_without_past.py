import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_MASKS = {}


class Served(base.Steps):
    def reach(self, p, c):
        if c.key_lengths is not None or c.query_lengths is not None:
            return super().reach(p, c)
        window = None if c.window is None else tuple(c.window)
        name = (c.B, c.Sq, c.T, bool(c.is_causal), c.causal_alignment, window)
        if name not in _MASKS:
            _MASKS[name] = super().reach(p, c)
        return _MASKS[name]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

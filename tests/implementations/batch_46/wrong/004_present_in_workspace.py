import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_BUFFERS = {}


class Served(base.Steps):
    def present(self, c, k, v):
        found = super().present(c, k, v)
        if not c.P:
            return found
        for name, array in found.items():
            place = _BUFFERS.setdefault((name, array.shape, array.dtype), np.empty_like(array))
            place[...] = array
            found[name] = place
        return found

    def round(self, found, c):
        return {
            name: array if c.P and name.startswith("present") else super(Served, self).round({name: array}, c)[name]
            for name, array in found.items()
        }


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

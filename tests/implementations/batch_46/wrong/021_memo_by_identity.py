import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Served(base.Steps):
    def keys_and_values(self, c):
        memo = {}

        def once(past, new, scale, name):  # keys and values may be one latent: widen it once
            found = memo.get(id(new)) if past is None else None
            if found is None:
                found = memo[id(new)] = self.dequantize(self.join(past, new), scale, name, c)
            return found

        return once(c.past_key, c.key, c.key_scale, "key"), once(c.past_value, c.value, c.value_scale, "value")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

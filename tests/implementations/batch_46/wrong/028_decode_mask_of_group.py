import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Served(base.Steps):
    def add_mask(self, logits, allowed, c):
        group = c.Hq // c.Hkv if c.Hkv else 1
        if c.Sq == 1 and group > 1 and c.mask4 is not None and c.mask4.shape[1] == c.Hq:
            # decoding: query heads of a group are rows of one tile, and share its mask
            kept, c.mask4 = c.mask4, np.repeat(c.mask4[:, ::group], group, axis=1)
            found = super().add_mask(logits, allowed, c)
            c.mask4 = kept
            return found
        return super().add_mask(logits, allowed, c)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def numbers(self, s, array):
        if array.dtype.name != "float8_e4m3fn":
            return super().numbers(s, array)
        codes = np.arange(256)
        exponent, fraction = (codes >> 3) & 15, codes & 7
        table = np.where(exponent > 0, (1 + fraction / 8) * 2.0 ** (exponent - 7), fraction / 8 * 2.0 ** -6)
        table = np.where(codes & 128, -table, table)
        table[0x7F] = np.nan
        return table.astype(s.work)[np.array(array).view(np.uint8)]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def by_position(self):
        left, right = (None, None) if self.window is None else self.window
        if self.Sq != 1 or left is None or self.causal_alignment != "bottom_right":
            return super().by_position()
        given, self.window = self.window, (None, right)
        allowed = super().by_position()
        self.window = given
        return allowed & (np.arange(self.T) >= self.T - 1 - int(left))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

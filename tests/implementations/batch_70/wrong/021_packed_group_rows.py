import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def place(self):
        super().place()
        if self.Sq == 1 and self.rep > 1:
            row = np.arange(self.Hq) % self.rep
            if self.causal_alignment == "top_left":
                first = np.full(self.B, self.P)
            else:
                first = self.L - self.N * self.rep
            self.position = first[:, None, None] + row[:, None]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def by_mask(self):
        mask = super().by_mask()
        if self.mask is not None and self.mask.dtype == bool and np.ndim(self.given) == 4 and mask.shape[1:3] == (1, 1):
            return np.arange(self.T) < mask.sum(axis=-1, keepdims=True)
        return mask

    def read_mask(self):
        self.given = self.mask
        super().read_mask()


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

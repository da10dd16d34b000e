import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Served(base.Steps):
    def attend(self, q, k, v, p, c):
        self.late = None
        # without a softcap the scale of the keys can wait for the exponent
        if base.is_quantized(c.key) and c.key_scale is not None and c.mask4 is not None and not c.softcap and c.alibi_slopes is None:
            self.late = np.repeat(self.scale_of_rank_4(c.key_scale, c), c.Hq // max(c.Hkv, 1) if np.ndim(c.key_scale) and np.shape(c.key_scale)[-1] == c.Hkv else 1, axis=1)
        return super().attend(q, k, v, p, c)

    def add_mask(self, logits, allowed, c):
        if self.late is None or c.mask4.dtype == bool:
            return super().add_mask(logits, allowed, c)
        zero = self.late == 0
        raw = logits / np.where(zero, 1.0, self.late)
        logits, allowed = super().add_mask(raw, allowed, c)
        return np.where(allowed, logits, 0.0) * self.late, allowed


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Steps):
    def maximum(self, a, logits, allowed):
        if a.sinks is None and a.softcap is None and a.slopes is None and not a.float_mask and a.scale != 0:
            products = self.share_products(a)
            top = np.where(allowed, products, -np.inf).max(axis=-1, initial=-np.inf)
            return np.where(allowed.any(axis=-1), top * a.work.type(a.scale), a.work.type(-np.inf))
        return super().maximum(a, logits, allowed)

    def share_products(self, a):
        return a.q @ self.share(a, a.k).swapaxes(-1, -2)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

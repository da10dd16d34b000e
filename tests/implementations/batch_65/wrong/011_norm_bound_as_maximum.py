import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Steps):
    def maximum(self, a, logits, allowed):
        if a.sinks is not None or a.softcap is not None or a.slopes is not None or a.float_mask:
            return super().maximum(a, logits, allowed)
        queries = np.sqrt((a.q * a.q).sum(axis=-1))
        keys = np.sqrt((self.share(a, a.k) ** 2).sum(axis=-1))[:, :, None, :]
        longest = np.where(allowed, keys, 0).max(axis=-1, initial=0)
        bound = (queries * longest * a.work.type(abs(a.scale))).astype(a.work)
        bound = np.where(np.isfinite(bound), bound, super().maximum(a, logits, allowed))
        return np.where(allowed.any(axis=-1), bound, a.work.type(-np.inf))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

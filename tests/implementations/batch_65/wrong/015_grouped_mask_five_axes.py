import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Steps):
    def apart(self, a, mask):
        """The mask for scores (B, Hkv, G, Sq, T)."""
        grouped = a.B, a.Hkv, a.G, a.Sq, a.T
        if mask.shape[1] == a.Hq:
            return mask.reshape(mask.shape[0], a.Hkv, a.G, *mask.shape[2:])
        try:
            np.broadcast_to(mask, grouped)
            return mask
        except ValueError:
            return mask[:, :, None]

    def four_axes(self, a, mask):
        mask = super().four_axes(a, mask)
        if a.G < 2 or 0 in (a.B, a.Hq, a.Sq, a.T):
            return mask
        grouped = a.B, a.Hkv, a.G, a.Sq, a.T
        return np.broadcast_to(self.apart(a, mask), grouped).reshape(a.B, a.Hq, a.Sq, a.T)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

"""Grouped heads as an axis of their own, keys from the last to the first, weights from the logsumexp in a second pass."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Steps):
    def scores(self, a):
        query = a.q.reshape(a.B, a.Hkv, a.G, a.Sq, a.E)
        products = np.einsum("bhgie,bhje->bhgij", query, a.k).reshape(a.B, a.Hq, a.Sq, a.T)
        return products * a.work.type(a.scale)

    def softmax(self, a, logits, allowed):
        top = self.maximum(a, logits, allowed)
        safe = np.where(top == -np.inf, 0, top).astype(a.work)
        total = np.zeros_like(safe) if a.sinks is None else np.exp(np.broadcast_to(a.sinks, safe.shape) - safe)
        for j in range(a.T)[::-1]:
            total = total + np.exp(logits[..., j] - safe)
        small = np.log(total)
        weights = np.where(allowed, np.exp((logits - safe[..., None]) - small[..., None]), 0).astype(a.work)
        return weights, safe + small


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

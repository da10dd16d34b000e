import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16


class Kernel(base.Partial):
    def parts(self, a, logits, allowed, values):
        top = np.full(logits.shape[:3], -np.inf, a.work)
        total = np.zeros(logits.shape[:3], a.work)
        acc = np.zeros(logits.shape[:3] + (a.Ev,), a.work)
        for k0 in range(0, a.T, TILE):
            part = slice(k0, k0 + TILE)
            tile = logits[..., part]
            new = np.maximum(top, tile.max(axis=-1))
            safe = np.where(new == -np.inf, 0, new)
            before = np.where(top == -np.inf, 0, top)
            alpha = np.ones_like(total) if k0 == 0 else np.exp(before - safe)
            powers = np.exp(tile - safe[..., None])
            total = total * alpha + powers.sum(axis=-1)
            acc = acc * alpha[..., None] + base.weigh(powers, allowed[..., part], values[..., part, :])
            top = new
        if a.sinks is not None:
            new = np.maximum(top, a.sinks)
            safe = np.where(new == -np.inf, 0, new)
            alpha = np.exp(top - safe)
            total, acc, top = total * alpha + np.exp(a.sinks - safe), acc * alpha[..., None], new
        return self.close(a, top, total, acc, allowed)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

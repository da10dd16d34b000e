import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16
NEGLIGIBLE = 24 * np.log(2)


class Kernel(base.Partial):
    def parts(self, a, logits, allowed, values):
        top = np.full(logits.shape[:3], -np.inf, a.work)
        if a.sinks is not None:
            top = np.broadcast_to(a.sinks, top.shape).astype(a.work)
        total = np.where(top == -np.inf, 0, 1).astype(a.work)
        acc = np.zeros(logits.shape[:3] + (a.Ev,), a.work)
        for k0 in range(0, a.T, TILE):
            part = slice(k0, k0 + TILE)
            tile = logits[..., part]
            here = tile.max(axis=-1)
            skip = here < top - a.work.type(NEGLIGIBLE)
            new = np.maximum(top, here)
            safe = np.where(new == -np.inf, 0, new)
            powers = np.exp(tile - safe[..., None])
            alpha = np.exp(top - safe)
            added = base.weigh(powers, allowed[..., part], values[..., part, :])
            total = np.where(skip, total, total * alpha + powers.sum(axis=-1))
            acc = np.where(skip[..., None], acc, acc * alpha[..., None] + added)
            top = np.where(skip, top, new)
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

"""Splits of 5 keys, each normalised with its own logsumexp, merged as a tree; the sink is a state of its own."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 5


def joined(one, other):
    together = np.logaddexp(one[0], other[0])
    safe = np.where(together == -np.inf, 0, together)
    left, right = np.exp(one[0] - safe)[..., None], np.exp(other[0] - safe)[..., None]
    return together, one[1] * left + other[1] * right


class Kernel(base.Partial):
    def parts(self, a, logits, allowed, values):
        states = []
        for k0 in range(0, max(a.T, 1), SPLIT):
            part = slice(k0, k0 + SPLIT)
            top = logits[..., part].max(axis=-1, initial=-np.inf)
            safe = np.where(top == -np.inf, 0, top)
            powers = np.exp(logits[..., part] - safe[..., None])
            total = powers.sum(axis=-1)
            weights = np.where(top[..., None] == -np.inf, 0, powers / total[..., None])
            states.append((safe + np.log(total), base.weigh(weights, allowed[..., part], values[..., part, :])))
        if a.sinks is not None:
            states.append((np.broadcast_to(a.sinks, logits.shape[:3]), np.zeros(logits.shape[:3] + (a.Ev,), a.work)))
        while len(states) > 1:
            odd = states[len(states) // 2 * 2:]
            states = [joined(states[i], states[i + 1]) for i in range(0, len(states) - 1, 2)] + odd
        logsumexp, output = states[0]
        dead = ~allowed.any(axis=-1)
        return np.where(dead[..., None], 0, output), logsumexp


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

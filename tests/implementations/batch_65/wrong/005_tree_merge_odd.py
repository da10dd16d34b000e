import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

CHUNK = 16


def joined(one, other):
    top = np.maximum(one[0], other[0])
    safe = np.where(top == -np.inf, 0, top)
    left, right = np.exp(one[0] - safe), np.exp(other[0] - safe)
    return top, one[1] * left + other[1] * right, one[2] * left[..., None] + other[2] * right[..., None]


class Kernel(base.Partial):
    def parts(self, a, logits, allowed, values):
        states = []
        for k0 in range(0, max(a.T, 1), CHUNK):
            part = slice(k0, k0 + CHUNK)
            top = logits[..., part].max(axis=-1, initial=-np.inf)
            powers = np.exp(logits[..., part] - np.where(top == -np.inf, 0, top)[..., None])
            states.append((top, powers.sum(axis=-1), base.weigh(powers, allowed[..., part], values[..., part, :])))
        while len(states) > 1:
            states = [joined(states[i], states[i + 1]) for i in range(0, len(states) - 1, 2)]
        state = states[0]
        if a.sinks is not None:
            sink = np.broadcast_to(a.sinks, state[0].shape)
            state = joined(state, (sink, np.where(sink == -np.inf, 0, 1).astype(a.work), np.zeros_like(state[2])))
        return self.close(a, *state, allowed)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

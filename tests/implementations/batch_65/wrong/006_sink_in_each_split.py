import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

SPLIT = 32


class Kernel(base.Partial):
    def parts(self, a, logits, allowed, values):
        tops, totals, accs = [], [], []
        for k0 in range(0, max(a.T, 1), SPLIT):
            part = slice(k0, k0 + SPLIT)
            top = logits[..., part].max(axis=-1, initial=-np.inf)
            if a.sinks is not None:
                top = np.maximum(top, a.sinks)
            safe = np.where(top == -np.inf, 0, top)
            powers = np.exp(logits[..., part] - safe[..., None])
            total = powers.sum(axis=-1)
            if a.sinks is not None:
                total = total + np.exp(a.sinks - safe)
            tops.append(top)
            totals.append(total)
            accs.append(base.weigh(powers, allowed[..., part], values[..., part, :]))
        top = np.max(tops, axis=0)
        shares = [np.exp(t - np.where(top == -np.inf, 0, top)) for t in tops]
        total = sum(x * share for x, share in zip(totals, shares))
        acc = sum(x * share[..., None] for x, share in zip(accs, shares))
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

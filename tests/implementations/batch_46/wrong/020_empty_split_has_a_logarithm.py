import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 16


class Served(base.Steps):
    def softmax(self, logits, allowed, v, sinks, c):
        if c.T <= SPLIT:
            return super().softmax(logits, allowed, v, sinks, c)
        rows, outputs = [], []
        for s in range(0, c.T, SPLIT):
            at = slice(s, s + SPLIT)
            part = super().softmax(logits[..., at], allowed[..., at], v[:, :, at], None, c)
            # log(max(sum, tiny)) keeps minus infinity away
            rows.append(np.where(allowed[..., at].any(axis=-1), part["logsumexp"], np.log(1e-30)))
            outputs.append(part["output"])
        if sinks is not None:
            rows.append(np.broadcast_to(sinks, logits.shape[:3]))
        every = np.stack(rows)
        largest = every.max(axis=0)
        largest = np.where(largest == -np.inf, 0.0, largest)
        shares = np.exp(every - largest)
        total = shares.sum(axis=0)
        divisor = np.where(total == 0, 1.0, total)[..., None]
        output = sum(share[..., None] / divisor * part for share, part in zip(shares, outputs))
        empty = ~allowed.any(axis=-1)
        alone = -np.inf if sinks is None else sinks
        return {"output": np.where(empty[..., None], 0.0, output), "logsumexp": np.where(empty, alone, np.log(total) + largest)}


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

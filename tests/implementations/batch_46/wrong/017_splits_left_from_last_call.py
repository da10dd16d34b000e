import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


SPLIT = 8
_WORKSPACE = {}


class Served(base.Steps):
    def softmax(self, logits, allowed, v, sinks, c):
        if c.key_lengths is None or c.T <= SPLIT:
            return super().softmax(logits, allowed, v, sinks, c)
        count = -(-c.T // SPLIT)
        name = (c.B, c.Hq, c.Sq, c.T, v.shape[-1])
        if name not in _WORKSPACE:
            _WORKSPACE[name] = (
                np.zeros((count,) + logits.shape[:3] + v.shape[-1:]),
                np.full((count,) + logits.shape[:3], -np.inf),
            )
        outputs, logarithms = _WORKSPACE[name]
        for b in range(c.B):
            for split in range(-(-int(c.L[b]) // SPLIT)):
                at = slice(split * SPLIT, (split + 1) * SPLIT)
                one = slice(b, b + 1)
                part = super().softmax(logits[one, ..., at], allowed[one, ..., at], v[one, :, at], None, c)
                outputs[split, b], logarithms[split, b] = part["output"][0], part["logsumexp"][0]
        rows = [logarithms] if sinks is None else [logarithms, np.broadcast_to(sinks, logits.shape[:3])[None]]
        every = np.concatenate(rows)
        largest = every.max(axis=0)
        largest = np.where(largest == -np.inf, 0.0, largest)
        shares = np.exp(every - largest)
        total = shares.sum(axis=0)
        divisor = np.where(total == 0, 1.0, total)[..., None]
        empty = (logarithms == -np.inf)[..., None]
        output = np.where(empty, 0.0, shares[:count, ..., None] / divisor * outputs).sum(axis=0)
        return {"output": output, "logsumexp": np.log(total) + largest}


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

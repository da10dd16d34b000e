import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np
from types import SimpleNamespace

dtypes = ("float64", "float32", "bfloat16", "float16")


def merged(a, b):
    """Two parts, each the largest base-2 logit, the sum of powers beside it, and the mean of the values."""
    (la, sa, oa), (lb, sb, ob) = a, b
    if la == -np.inf:
        return b
    if lb == -np.inf:
        return a
    top = max(la, lb) if la == la and lb == lb else np.nan
    wa, wb = sa * np.exp2(la - top), sb * np.exp2(lb - top)
    return top, wa + wb, wa / (wa + wb) * oa + wb / (wa + wb) * ob


def tree(logits, values, sink):
    """A binary tree down to single keys: the share of each pair is settled on the way up."""
    parts = [(l, 1.0, v) for l, v in zip(logits, values)]
    if sink is not None:
        parts.append((sink, 1.0, np.zeros(values.shape[-1])))
    while len(parts) > 1:
        parts = [merged(*parts[n : n + 2]) if n + 1 < len(parts) else parts[n] for n in range(0, len(parts), 2)]
    return parts[0] if parts else (-np.inf, 1.0, np.zeros(values.shape[-1]))


class Gathered(base.Steps):
    def softmax(self, logits, allowed, v, sinks, c):
        output = np.zeros(logits.shape[:3] + v.shape[-1:])
        logsumexp = np.full(logits.shape[:3], -np.inf)
        for b, h, i in np.ndindex(*logits.shape[:3]):
            j = np.flatnonzero(allowed[b, h, i])
            sink = None if sinks is None else sinks[0, h, 0] * np.log2(np.e)
            top, total, output[b, h, i] = tree(logits[b, h, i, j] * np.log2(np.e), v[b, h, j], sink)
            logsumexp[b, h, i] = (top + np.log2(total)) * np.log(2.0)
        return {"output": output, "logsumexp": logsumexp}


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    """Keys are gathered, not masked, and merged in a binary tree with logarithms to the base 2."""
    return Gathered().dense(dict(locals()))

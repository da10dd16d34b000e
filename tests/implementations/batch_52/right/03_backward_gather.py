import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    """Query by query, from the last one to the first: keys are gathered, what they get is scattered; deltas are
    subtracted from the values before the dot products."""

    def normalise(self, c):
        c.w = np.zeros(c.logits.shape)
        c.share = None if c.sink is None else np.ones((c.B, c.H, c.Sq))

    def differentiate(self, c):
        c.delta = np.zeros((c.B, c.H, c.Sq))
        c.grad_logits = np.zeros(c.logits.shape)
        c.grad_scores = np.zeros(c.logits.shape)
        c.grad_query = np.zeros(c.query.shape)
        c.grad_key = np.zeros(c.key.shape)
        c.grad_value = np.zeros(c.value.shape)
        slope = np.broadcast_to(c.slope, c.logits.shape)
        for row in reversed(list(np.ndindex(c.B, c.H, c.Sq))):
            b, h, i = row
            chosen = np.flatnonzero(c.allowed[row])
            if not len(chosen):
                continue
            place = b, h // c.group
            logits = c.logits[row][chosen]
            extra = [] if c.sink is None else [c.sink[0, h, 0]]
            total = np.logaddexp.reduce(np.concatenate([logits, extra]))
            w = np.exp(logits - total)
            if extra:
                c.share[row] = np.exp(extra[0] - total)
            keys, values = c.k[b, h][chosen], c.v[b, h][chosen]
            gradient = c.g[row]
            got = values @ gradient
            c.delta[row] = (w @ values) @ gradient
            moved = w * (got - c.delta[row]) + w * c.gl[row]
            c.grad_logits[row][chosen] = moved
            moved = moved * slope[row][chosen]
            c.grad_scores[row][chosen] = moved
            c.grad_query[row] = c.factor * (moved @ keys)
            np.add.at(c.grad_key[place], chosen, c.factor * np.outer(moved, c.q[row]))
            np.add.at(c.grad_value[place], chosen, np.outer(w, gradient))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

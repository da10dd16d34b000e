import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    """Under causality slope * j does for -slope * (p - j): a row's constant changes no weight."""

    def softmax(self, logits):
        p = self.p
        given = p.given
        column = given["is_causal"] and given["alibi_slopes"] is not None
        constant = np.zeros(p.dlse.shape)
        if column:
            constant = base.wide(given["alibi_slopes"])[:, None] * p.pos[:, None, :].astype(np.float64)
            logits = np.where(p.allowed, logits + constant[..., None], -np.inf)
        if p.lse_given is not None and p.dtype.itemsize >= 4:
            lse = base.wide(p.lse_given)
            lse = np.where(np.isneginf(lse), 0.0, lse)
            w = np.where(p.allowed, np.exp(logits - lse[..., None]), 0.0)
            return w, 0.0 if p.sinks is None else np.exp(p.sinks[:, None] - lse)
        top = logits.max(axis=-1, initial=-np.inf)
        if p.sinks is not None:
            top = np.maximum(top, p.sinks[:, None] + constant)
        top = np.where(np.isneginf(top), 0.0, top)
        e = np.where(p.allowed, np.exp(logits - top[..., None]), 0.0)
        s = 0.0 if p.sinks is None else np.exp(p.sinks[:, None] + constant - top)
        total = e.sum(-1) + s
        total = np.where(total == 0, 1.0, total)
        return np.where(p.allowed, e / total[..., None], 0.0), s / total


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()

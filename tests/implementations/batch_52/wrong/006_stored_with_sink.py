import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def normalise(self, c):
        super().normalise(c)
        stored = c.logsumexp
        if stored is None or stored.shape != (c.B, c.H, c.Sq):
            return
        c.lse = base.wide(stored)
        if c.sink is not None:  # the sink joins the denominator
            c.lse = np.logaddexp(c.lse, c.sink)
            c.share = np.exp(c.sink - c.lse)
        c.w = np.where(c.allowed, np.exp(c.logits - c.lse[..., None]), 0.0)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

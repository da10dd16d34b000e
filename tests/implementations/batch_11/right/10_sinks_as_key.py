"""The steps of base, one of them in another form."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


class Steps(base.SDPA):
    def softmax(self, s):
        """The sink is a key in front of the others whose value is nothing."""
        logits = s.logits
        if s.sinks is not None:
            column = np.broadcast_to(s.sinks.astype(s.dt)[:, None, None], logits.shape[:3] + (1,))
            logits = np.concatenate([column, logits], -1)
        top = logits.max(-1, keepdims=True, initial=-np.inf)
        top = np.where((top == -np.inf), 0, top)
        rest = np.log(np.exp(logits - top).sum(-1, keepdims=True))
        s.weights = np.where(s.allowed, np.exp(s.logits - top - np.where(rest == -np.inf, 0, rest)), 0).astype(s.dt)
        s.logsumexp = (top + rest)[..., 0]

def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    outputs = Steps().run(**locals())
    return outputs

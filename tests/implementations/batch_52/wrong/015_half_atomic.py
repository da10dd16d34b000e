import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Backward):
    def columns(self, c, weights, things):
        """Queries add to the gradients of keys and values where these stand, in their dtype."""
        if not base.is_half(c.dtype):
            return base.apart(base.flip(weights), things, base.flip(c.allowed))
        result = np.zeros((c.B, c.H, c.Sk, things.shape[-1]), c.dtype)
        for i in range(c.Sq):
            part = weights[:, :, i, :, None] * things[:, :, i, None, :]
            part = np.where(c.allowed[:, :, i, :, None], part, 0.0)
            result = (result.astype(np.float32) + part.astype(np.float32)).astype(c.dtype)
        return result.astype(np.float64)

    def value_gradient(self, c):
        c.grad_value = self.fold(c, self.columns(c, c.w, c.g))

    def key_gradient(self, c):
        c.grad_key = self.fold(c, self.columns(c, c.factor * c.grad_scores, c.q))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

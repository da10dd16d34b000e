import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


BLOCK = 16


class Mine(base.Backward):
    def columns(self, c, weights, things):
        """Sums over the queries for blocks of keys; a causal block begins at the first query that can see it."""
        result = np.zeros((c.B, c.H, c.Sk, things.shape[-1]))
        for start in range(0, c.Sk, BLOCK):
            keys = slice(start, start + BLOCK)
            first = start // BLOCK * BLOCK if c.is_causal else 0
            for begin in range(first, c.Sq, BLOCK):
                rows = slice(begin, begin + BLOCK)
                result[:, :, keys] += base.apart(
                    base.flip(weights[:, :, rows, keys]), things[:, :, rows], base.flip(c.allowed[:, :, rows, keys])
                )
        return result

    def value_gradient(self, c):
        c.grad_value = self.fold(c, self.columns(c, c.w, c.g))

    def key_gradient(self, c):
        c.grad_key = self.fold(c, c.factor * self.columns(c, c.grad_scores, c.q))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def widen(self):
        super().widen()
        copies = {}

        def widened(array):
            if id(array) not in copies:
                copies[id(array)] = np.array(array, dtype=np.float64)
            return copies[id(array)]

        counts = self.counts[:, None, :, None]
        query, key, value, gradient = (
            widened(self.given[name]) for name in ("query", "key", "value", "grad_output")
        )
        query *= self.scale  # once here, rather than all the scores
        self.scaled = np.where(counts, query, 0.0)
        self.go = np.where(counts, gradient, 0.0)
        self.k = np.repeat(key, self.group, axis=1)
        self.v = np.repeat(value, self.group, axis=1)

    def score(self):
        factor, plain = self.scale, self.q
        self.q, self.scale = self.scaled, 1.0
        super().score()
        self.q, self.scale = plain, factor


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()

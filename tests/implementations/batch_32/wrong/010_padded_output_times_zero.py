"""Padded queries are cleared in grad_output, but their stored output meets a zero by multiplication."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def find_delta(self):
        if self.output is None:
            return super().find_delta()
        cleared = np.where(self.counts[:, None, :, None], self.go, 0)
        some = self.allowed.any(axis=-1)
        self.delta = np.where(some, (cleared * base.wide(self.output)).sum(axis=-1), 0)

    def logit_gradients(self):
        if self.output is None:
            return super().logit_gradients()
        glse = np.where(self.counts[:, None], self.glse, 0)[..., None]
        self.dl = np.where(self.allowed, self.w * (self.dp - self.delta[..., None] + glse), 0)

    def score_gradients(self):
        seen = self.attend if self.output is None else self.allowed
        slope = np.where(self.attend, self.slope, 1)
        self.ds = np.where(seen, self.dl * slope, 0)

    def key_gradient(self):
        if self.output is None:
            return super().key_gradient()
        q = np.where(self.counts[:, None, :, None], self.q, 0)
        each = base.product(base.turned(self.ds), q, base.turned(self.allowed))
        return self.over_group(self.factor * each)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()

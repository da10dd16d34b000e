"""A chain of library calls in half precision: each step stores its result in the dtype of the query; sums inside a step in float32."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"half_precision_overflow": "open"}


class Backward(base.Backward):
    def r(self, x):
        return x.astype(self.dtype).astype(self.work)

    def find_logits(self):
        self.s = self.r(self.r(self.q @ np.swapaxes(self.k, -1, -2)) * self.factor)
        x = self.s
        if self.softcap:
            self.tanh = np.tanh(x / self.work(self.softcap))
            x = self.r(self.work(self.softcap) * self.tanh)
        if self.alibi_slopes is not None:
            x = self.r(x - self.w(self.alibi_slopes)[:, None, None] * abs(self.distance).astype(self.work))
        if self.mask is not None and self.mask.dtype != bool:
            x = self.r(x + self.w(self.mask_full()))
        self.logits = np.where(self.attend, x, -np.inf)

    def find_logsumexp(self):
        self.logsumexp = None  # the logits are rounded: their own sum belongs to them
        return super().find_logsumexp()

    def find_weights(self):
        super().find_weights()
        self.weights = self.r(self.weights)

    def find_grad_weights(self):
        super().find_grad_weights()
        self.dp = self.r(self.dp)

    def find_delta(self):
        self.output = None
        super().find_delta()
        self.d = self.r(self.d)

    def find_grad_logits(self):
        super().find_grad_logits()
        self.dl = self.r(self.dl)

    def find_grad_scores(self):
        super().find_grad_scores()
        self.ds = self.r(self.ds)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Call(base.Backward):
    def find_delta(self):
        super().find_delta()
        self.delta = self.delta - self.grad_lse()  # folded in here, so that no kernel needs to know

    def find_grad_logits(self):
        above = self.grad_weights - self.delta[..., None]
        self.grad_logits = np.where(self.pairs, self.weights * above, 0).astype(self.kind)

    def sink_gradient(self):
        rows = -self.sink_shares() * self.delta
        return np.where(self.counts[:, None], rows, 0).sum(axis=(0, 2))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Call(base.Backward):
    def sink_gradient(self):
        # one program per row of the padded tensor
        weights, lse = self.softmax_of(self.any_row)
        delta = self.mean_gradient(self.any_row, weights)
        sinks = self.sinks.astype(self.kind)[None, :, None]
        shares = np.where(np.isneginf(sinks), 0, np.exp(sinks - lse))
        gradient = 0 if self.grad_logsumexp is None else self.grad_logsumexp.astype(self.kind)
        return (shares * (gradient - delta)).sum(axis=(0, 2))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()

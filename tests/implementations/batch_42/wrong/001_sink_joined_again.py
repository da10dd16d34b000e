import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Call(base.Backward):
    def find_weights(self):
        if self.logsumexp is None:
            return super().find_weights()
        lse = self.logsumexp.astype(self.kind)
        if self.sinks is not None:
            lse = np.logaddexp(lse, self.sinks.astype(self.kind)[None, :, None])
        self.lse = lse
        self.weights = np.where(self.pairs, np.exp(self.logits - lse[..., None]), 0).astype(self.kind)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()

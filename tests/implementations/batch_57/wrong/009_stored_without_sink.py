import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def weigh(self):
        super().weigh()
        if self.logsumexp is not None and self.sinks is not None:
            sink = base.wide(self.sinks)[None, :, None]
            stored = np.where(self.counts[:, None, :], base.wide(self.logsumexp), 0.0)
            stored = np.logaddexp(stored, sink)
            self.weights = np.where(self.allowed, np.exp(self.logits - stored[..., None]), 0.0)
            self.share_of_sink = np.exp(sink - stored)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()

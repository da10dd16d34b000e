import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    def softmax(self, logits):
        p = self.p
        if p.lse_given is None or p.dtype.itemsize < 4:
            return super().softmax(logits)
        lse = base.wide(p.lse_given)
        if p.sinks is not None:
            lse = np.logaddexp(lse, p.sinks[:, None])
        lse = np.where(np.isneginf(lse), 0.0, lse)
        w = np.where(p.allowed, np.exp(logits - lse[..., None]), 0.0)
        return w, 0.0 if p.sinks is None else np.exp(p.sinks[:, None] - lse)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()

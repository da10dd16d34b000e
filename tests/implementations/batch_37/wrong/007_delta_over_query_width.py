import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Wrong(base.Backward):
    def find_delta(self):
        if self.output is None or np.shape(self.output) != self.grad_output.shape:
            return super().find_delta()
        stored = np.asarray(self.output).astype(self.work)
        some = self.allowed.any(axis=-1)
        d = self.E  # head_dim
        self.delta = np.where(some, (self.do[..., :d] * stored[..., :d]).sum(axis=-1), self.work.type(0))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()

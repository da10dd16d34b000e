import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Backward):
    def find_delta(self):
        out = self.given_output
        if out is None or out.shape != self.do.shape:
            return super().find_delta()
        d = self.E  # head_dim of the launch
        rows = (base.wide(out)[..., :d] * self.do[..., :d]).sum(axis=-1)
        return np.where(self.allowed.any(axis=-1), rows, 0)


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Kernel().run(**locals())

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    def grad_value(self):  # every query adds to the gradient in memory
        p = self.p
        if p.dtype.itemsize > 2:
            return super().grad_value()
        acc = np.zeros((p.B, p.Hq, p.Sk, p.Ev), dtype=p.dtype)
        for i in range(p.Sq):
            part = np.where(p.allowed[:, :, i, :, None], self.w[:, :, i, :, None] * p.do[:, :, i, None, :], 0.0)
            acc = (acc.astype(np.float32) + part.astype(np.float32)).astype(p.dtype)
        return acc.astype(np.float64)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()

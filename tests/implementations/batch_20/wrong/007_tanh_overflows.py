import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def tanh(x, dtype):
    """tanh from one exponential, as where a device has no tanh."""
    e = np.expm1(2 * x.astype(dtype))
    return (e / (e + 2)).astype(np.float64)


class Mine(base.Backward):
    def tanh(self, x):
        return tanh(x, np.float64 if self.p.dtype == np.float64 else np.float32)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Mine(base.plan(**locals())).run()

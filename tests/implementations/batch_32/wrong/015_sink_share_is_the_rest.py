"""The share of the sink is taken as 1 less the sum of the weights."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def sink_share(self):
        weights = self.w.astype(base.work_dtype(self.query))
        rest = 1 - weights.sum(axis=-1)
        return np.maximum(rest, 0).astype(np.float64)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Gradients(**locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Wrong(base.Backward):
    def round(self):
        buffers = {}
        for tensor, gradient in ((self.query, self.dq), (self.key, self.dk), (self.value, self.dv)):
            known = id(tensor)
            buffers[known] = buffers[known] + gradient if known in buffers else gradient
        self.dq, self.dk, self.dv = (buffers[id(tensor)] for tensor in (self.query, self.key, self.value))
        return super().round()


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Wrong(locals()).run()

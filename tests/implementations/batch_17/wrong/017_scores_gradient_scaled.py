import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Backward(base.Backward):
    def results(self):
        out = super().results()
        out["grad_scores"] = (self.ds * self.factor).astype(self.dtype)
        return out

def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()

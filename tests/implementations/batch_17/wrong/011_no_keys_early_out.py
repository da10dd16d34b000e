import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Backward(base.Backward):
    def steps(self):
        if self.sk == 0 or self.sq == 0:
            out = {"grad_query": np.zeros_like(self.query), "grad_key": np.zeros_like(self.key), "grad_value": np.zeros_like(self.value)}
            if self.mask is not None and self.mask.dtype != bool:
                out["grad_mask"] = np.zeros_like(self.mask)
            if self.sinks is not None:
                out["grad_sinks"] = np.zeros_like(self.sinks)
            return out
        return super().steps()

    def results(self):
        return {k: v for k, v in super().results().items() if k not in ("delta", "grad_scores")}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Backward(base.Backward):
    def check(self):
        base.check(self.grad_output, self.query, self.key, self.value, None, self.mask, self.key_lengths, self.query_lengths)
        if self.grad_logsumexp is not None:
            self.grad_logsumexp = np.broadcast_to(self.grad_logsumexp, self.query.shape[:3])

    def results(self):
        return {k: v for k, v in super().results().items() if k not in ("delta", "grad_scores")}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Backward(base.Backward):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.given = self.mask

    def mask_full(self):
        m = self.mask
        if m.ndim == 3 and m.shape[0] == self.b:
            m = m[:, None]
        return np.broadcast_to(m, (self.b, self.hq, self.sq, self.sk))

    def find_grad_mask(self):
        m = self.mask
        if m.ndim == 3 and m.shape[0] == self.b:
            return base.unbroadcast(self.dl, (self.b, 1) + m.shape[1:])[:, 0]
        return super().find_grad_mask()

    def results(self):
        return {k: v for k, v in super().results().items() if k not in ("delta", "grad_scores")}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()

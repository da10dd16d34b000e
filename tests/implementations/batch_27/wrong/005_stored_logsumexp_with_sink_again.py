import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Backward:
    """Weights from the stored logsumexp where there is one, else from a softmax."""

    def __init__(self, p):
        self.p = p
        self.s = base.scores_of(p)
        self.logits = base.logits_of(p, self.s)

    def weights(self):
        p = self.p
        w, share, _ = base.softmax_parts(p, self.logits)
        if p.logsumexp is None:
            return w, share
        with np.errstate(all="ignore"):
            lse = p.logsumexp.astype(p.T)
            if p.sink is not None:
                lse = np.logaddexp(lse, p.sink[None, :, None])  # the sink takes its part
                share = np.where(p.counts[:, None], np.exp(p.sink[None, :, None] - lse), 0)
            return np.where(p.allow, np.exp(self.logits - lse[..., None]), 0), share

    def run(self):
        w, share = self.weights()
        dl, delta = base.dlogits_of(self.p, w, None)
        return base.finish(self.p, w, share, dl, base.uncap(self.p, dl, self.s), delta)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    if logsumexp is not None and logsumexp.shape != query.shape[:3]:
        logsumexp = None
    return Backward(base.prepare(**locals())).run()

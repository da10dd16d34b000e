import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


class Backward(base.Backward):
    def attendable(self):
        super().attendable()
        self.true_attend = self.attend

    def place(self):
        super().place()
        self.true_n = self.n

    def find_grad_mask(self):
        # the mask kernel runs over the padded grid: weights of the rows behind N are there all the same
        n, self.n = self.n, np.full(self.b, self.sq)
        keep = self.attend
        base.Backward.attendable(self)
        every = self.attend
        self.n, self.attend = n, keep
        if every.sum() == keep.sum():
            return super().find_grad_mask()
        x = np.where(every, self.s, 0)
        if self.softcap:
            x = np.tanh(x / self.work(self.softcap)) * self.work(self.softcap)
        if self.alibi_slopes is not None:
            x = x - self.w(self.alibi_slopes)[:, None, None] * self.alibi_distance().astype(self.work)
        x = np.where(every, x + self.w(self.mask_full()), -np.inf)
        if self.sinks is not None:
            x = np.concatenate([x, np.broadcast_to(self.w(self.sinks)[:, None, None], x.shape[:3] + (1,))], -1)
        top = x.max(-1, keepdims=True, initial=-np.inf)
        p = np.exp(x - np.where(np.isneginf(top), 0, top))
        total = p.sum(-1, keepdims=True)
        p = np.where(every, p[..., :self.sk] / np.where(total > 0, total, 1), 0)
        dp = np.where(every, self.do @ np.swapaxes(self.v, -1, -2), 0)
        y = dp - (p * dp).sum(-1, keepdims=True)
        if self.grad_logsumexp is not None:
            y = y + self.w(self.grad_logsumexp)[..., None]
        return base.unbroadcast(np.where(every, p * y, 0), self.mask.shape)

    def results(self):
        return {k: v for k, v in super().results().items() if k not in ("delta", "grad_scores")}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()

"""Backward pass of scaled dot-product attention, one method for each step, so that one can be replaced at a time."""
import numpy as np


def check(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
          key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, **rest):
    for x in (query, key, value):
        if np.ndim(x) != 4:
            raise ValueError("rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, _ = key.shape
    if key.shape[3] != E:
        raise ValueError("width")
    if key.shape[0] != B or value.shape[0] != B:
        raise ValueError("batch")
    if value.shape[1] != Hkv or (Hq % Hkv if Hkv else Hq):
        raise ValueError("heads")
    if value.shape[2] != Sk:
        raise ValueError("length")
    for x, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if x is not None:
            x = np.asarray(x)
            if x.shape != (B,):
                raise ValueError("batch of lengths")
            if (x < 0).any() or (x > most).any():
                raise ValueError("length")
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != Sk:
            raise ValueError("mask")
        for have, want in zip(mask.shape[::-1], (Sk, Sq, Hq, B)):
            if have not in (1, want):
                raise ValueError("mask")
    for x in (grad_output, output):
        if x is not None and x.shape != (B, Hq, Sq, value.shape[3]):
            raise ValueError("gradient")
    for x in (logsumexp, grad_logsumexp):
        if x is not None and x.shape != (B, Hq, Sq):
            raise ValueError("gradient")
    for x in (sinks, alibi_slopes):
        if x is not None and x.shape != (Hq,):
            raise ValueError("heads")


def masked_dot(a, keep, x):
    """sum over j of a[..., i, j] x[..., j, :], over the pairs that are kept."""
    a = np.where(keep, a, 0)
    if np.isfinite(a).all() and np.isfinite(x).all():
        return a @ x
    return np.where(keep[..., None], a[..., None] * x[..., None, :, :], 0).sum(-2, dtype=a.dtype)


class Backward:
    names = ("mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes", "output", "logsumexp", "grad_logsumexp")

    def __init__(self, grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
                 key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                 causal_alignment="top_left", scale=None, softcap=None, window=None):
        self.given = dict(grad_output=grad_output, query=query, key=key, value=value, output=output, logsumexp=logsumexp,
                          grad_logsumexp=grad_logsumexp, mask=mask, key_lengths=key_lengths,
                          query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes)
        self.is_causal, self.causal_alignment, self.scale = is_causal, causal_alignment, scale
        self.softcap, self.window = softcap, window

    def check(self):
        check(**self.given)

    def widen(self):
        g = self.given
        self.dtype = g["query"].dtype
        self.wide = np.dtype(np.float32) if self.dtype.itemsize < 4 else self.dtype
        for name, x in g.items():
            if x is not None and name not in ("mask", "key_lengths", "query_lengths"):
                x = np.asarray(x).astype(self.wide)
            setattr(self, name, x)
        if self.mask is not None and self.mask.dtype != bool:
            self.mask = self.mask.astype(self.wide)
        self.B, self.Hq, self.Sq, self.E = self.query.shape
        self.Hkv, self.Sk, self.Ev = self.key.shape[1], self.key.shape[2], self.value.shape[3]

    def set_scale(self):
        if self.scale is None:
            self.scale = 1 / np.sqrt(self.E)
        self.scale = self.wide.type(self.scale)

    def lengths(self):
        self.L = np.full(self.B, self.Sk) if self.key_lengths is None else np.asarray(self.key_lengths).astype(np.int64)
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else np.asarray(self.query_lengths).astype(np.int64)

    def positions(self):
        i = np.arange(self.Sq)[None, :]
        self.p = i + (self.L - self.N)[:, None] if self.causal_alignment == "bottom_right" else np.repeat(i, self.B, 0)
        self.p = self.p[:, None, :, None]
        self.j = np.arange(self.Sk)[None, None, None, :]

    def valid(self):
        """pairs whose query and key count"""
        rows = np.arange(self.Sq)[None, :] < self.N[:, None]
        cols = np.arange(self.Sk)[None, :] < self.L[:, None]
        return rows[:, None, :, None] & cols[:, None, None, :]

    def near(self):
        """pairs that causality and window allow"""
        keep = np.ones((1, 1, self.Sq, self.Sk), bool)
        if self.is_causal:
            keep = keep & (self.j <= self.p)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                keep = keep & (self.j >= self.p - left)
            if right is not None:
                keep = keep & (self.j <= self.p + right)
        return keep

    def unmasked(self):
        if self.mask is None:
            return True
        return self.mask if self.mask.dtype == bool else ~np.isneginf(self.mask)

    def allow(self):
        shape = (self.B, self.Hq, self.Sq, self.Sk)
        self.keep = np.broadcast_to(self.valid() & self.near() & self.unmasked(), shape)
        self.live = self.keep.any(-1)

    def clean(self):
        """what stands in rows that do not count, or that see nothing, is not read"""
        rows = (np.arange(self.Sq)[None, :] < self.N[:, None])[:, None, :]
        self.counts = np.broadcast_to(rows, (self.B, self.Hq, self.Sq))
        self.grad_output = np.where(self.live[..., None], self.grad_output, 0)
        if self.output is not None:
            self.output = np.where(self.live[..., None], self.output, 0)
        if self.grad_logsumexp is None:
            self.grad_logsumexp = np.zeros((self.B, self.Hq, self.Sq), self.wide)
        self.grad_logsumexp = np.where(self.counts, self.grad_logsumexp, 0)

    def heads(self):
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        self.k, self.v = np.repeat(self.key, self.group, 1), np.repeat(self.value, self.group, 1)

    def score(self):
        self.scores = (self.query @ self.k.swapaxes(-1, -2)) * self.scale

    def cap(self):
        if self.softcap:
            c = self.wide.type(self.softcap)
            self.t = np.tanh(self.scores / c)
            self.capped = c * self.t
        else:
            self.capped = self.scores

    def bias(self):
        self.logits = self.capped
        if self.alibi_slopes is not None:
            self.logits = self.logits - self.alibi_slopes[None, :, None, None] * np.abs(self.p - self.j).astype(self.wide)
        if self.mask is not None and self.mask.dtype != bool:
            self.logits = self.logits + self.mask
        self.logits = np.where(self.keep, self.logits, -np.inf).astype(self.wide)

    def top(self):
        top = self.logits.max(-1, initial=-np.inf)
        if self.sinks is not None:
            top = np.maximum(top, self.sinks[None, :, None])
        return np.where(np.isneginf(top), 0, top).astype(self.wide)

    def softmax(self):
        sink = None if self.sinks is None else self.sinks[None, :, None]
        if self.logsumexp is not None:
            lse = np.where(self.live, self.logsumexp, 0)[..., None]
            self.weights = np.where(self.keep, np.exp(np.where(self.keep, self.logits, 0) - lse), 0)
            if sink is not None:
                self.share = np.where(self.live, np.exp(sink - lse[..., 0]), 1)
            return
        top = self.top()
        e = np.exp(self.logits - top[..., None])
        total = e.sum(-1)
        if sink is not None:
            s = np.exp(sink - top)
            total = total + s
            self.share = s / np.where(total == 0, 1, total)
        self.weights = np.where(self.keep, e / np.where(total == 0, 1, total)[..., None], 0)

    def values(self):
        return masked_dot(self.weights.swapaxes(-1, -2), self.keep.swapaxes(-1, -2), self.grad_output)

    def gradient_of_weights(self):
        self.grad_weights = np.where(self.keep, self.grad_output @ self.v.swapaxes(-1, -2), 0)

    def mean(self):
        if self.output is not None:
            self.delta = (self.grad_output * self.output).sum(-1)
        else:
            self.delta = (self.weights * self.grad_weights).sum(-1)

    def gradient_of_logits(self):
        inner = self.grad_weights - self.delta[..., None] + self.grad_logsumexp[..., None]
        self.grad_logits = np.where(self.keep, self.weights * inner, 0)

    def gradient_of_mask(self):
        full = self.grad_logits
        lost = full.ndim - self.mask.ndim
        full = full.sum(tuple(range(lost)), dtype=self.wide)
        axes = tuple(a for a in range(full.ndim) if self.mask.shape[a] == 1 and full.shape[a] != 1)
        return full.sum(axes, keepdims=True, dtype=self.wide)

    def gradient_of_sinks(self):
        terms = self.share * (self.grad_logsumexp - self.delta)
        return np.where(self.counts, terms, 0).sum((0, 2))

    def gradient_of_scores(self):
        self.grad_scores = self.grad_logits
        if self.softcap:
            self.grad_scores = np.where(self.keep, self.grad_logits * (1 - self.t * self.t), 0)

    def queries(self):
        return masked_dot(self.grad_scores, self.keep, self.k) * self.scale

    def keys(self):
        return masked_dot(self.grad_scores.swapaxes(-1, -2), self.keep.swapaxes(-1, -2), self.query) * self.scale

    def join(self, x):
        return x.reshape(self.B, self.Hkv, self.group, *x.shape[2:]).sum(2)

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.widen()
            self.set_scale()
            self.lengths()
            self.positions()
            self.allow()
            self.clean()
            self.heads()
            self.score()
            self.cap()
            self.bias()
            self.softmax()
            gv = self.values()
            self.gradient_of_weights()
            self.mean()
            self.gradient_of_logits()
            out = {}
            if self.mask is not None and self.mask.dtype != bool:
                out["grad_mask"] = self.gradient_of_mask()
            if self.sinks is not None:
                out["grad_sinks"] = self.gradient_of_sinks()
            self.gradient_of_scores()
            out = {"grad_query": self.queries(), "grad_key": self.join(self.keys()), "grad_value": self.join(gv), **out}
            out["delta"], out["grad_scores"] = self.delta, self.grad_scores
            return {name: np.asarray(x).astype(self.dtype) for name, x in out.items()}


def bind(steps):
    def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                              grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                              sinks=None, alibi_slopes=None, is_causal=False,
                                              causal_alignment="top_left", scale=None, softcap=None, window=None):
        return steps(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths,
                     query_lengths, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window).run()
    return scaled_dot_product_attention_backward


scaled_dot_product_attention_backward = bind(Backward)


def forward(query, key, value, **more):
    """output and logsumexp, as a forward pass would have stored them"""
    zero = np.zeros((*query.shape[:3], value.shape[3]), query.dtype)
    for name in ("grad_output", "output", "logsumexp", "grad_logsumexp"):
        more.pop(name, None)
    s = Backward(zero, query, key, value, **more)
    s.run()
    with np.errstate(all="ignore"):
        top = s.top()
        total = np.exp(s.logits - top[..., None]).sum(-1)
        if s.sinks is not None:
            total = total + np.exp(s.sinks[None, :, None] - top)
        return masked_dot(s.weights, s.keep, s.v).astype(s.dtype), (top + np.log(total)).astype(s.dtype)

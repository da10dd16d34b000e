"""Right implementation in steps; a subclass replaces one step."""
import numpy as np


def wide(dtype):
    return np.dtype(np.float32) if np.dtype(dtype).itemsize < 4 else np.dtype(dtype)


def mm(w, x, ok):
    """sum_j w_ij x_j over the pairs that are ok; what is not ok adds exactly nothing."""
    if np.isfinite(w).all() and np.isfinite(x).all():
        return w @ x
    return np.where(ok[..., None], w[..., None] * x[..., None, :, :], 0).sum(-2).astype(w.dtype)


class Backward:
    def run(self, a):
        for k, v in a.items():
            setattr(self, k, v)
        with np.errstate(all="ignore"):
            for step in (self.check, self.prepare, self.position, self.allow, self.score, self.logit, self.softmax,
                         self.values, self.gradweights, self.find_delta, self.gradlogits, self.gradmask, self.gradsinks,
                         self.gradscores, self.gradquery, self.gradkey, self.group):
                step()
            return self.answer()

    def check(self):
        go, q, k, v = self.grad_output, self.query, self.key, self.value
        if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
            raise ValueError("rank")
        if q.shape[3] != k.shape[3]:
            raise ValueError("width")
        if not q.shape[0] == k.shape[0] == v.shape[0]:
            raise ValueError("batch")
        if k.shape[1] != v.shape[1] or k.shape[1] == 0 or q.shape[1] % k.shape[1]:
            raise ValueError("heads")
        if k.shape[2] != v.shape[2]:
            raise ValueError("length")
        B, H, S = q.shape[:3]
        T = k.shape[2]
        for x, top in ((self.key_lengths, T), (self.query_lengths, S)):
            if x is not None:
                x = np.asarray(x)
                if x.shape != (B,) or (x < 0).any() or (x > top).any():
                    raise ValueError("lengths")
        if self.mask is not None:
            m = self.mask
            if not 2 <= m.ndim <= 4 or m.shape[-1] != T or any(
                    a not in (1, b) for a, b in zip(m.shape[::-1], (T, S, H, B))):
                raise ValueError("mask")
        if go.shape != (B, H, S, v.shape[3]):
            raise ValueError("grad_output")
        if self.grad_logsumexp is not None and self.grad_logsumexp.shape != (B, H, S):
            raise ValueError("grad_logsumexp")

    def prepare(self):
        self.B, self.H, self.S, self.E = self.query.shape
        self.G, self.T = self.key.shape[1:3]
        self.R = self.H // self.G
        self.dt = dt = wide(self.query.dtype)
        self.q = self.query.astype(dt)
        self.k = np.repeat(self.key.astype(dt), self.R, axis=1)
        self.v = np.repeat(self.value.astype(dt), self.R, axis=1)
        self.do = self.grad_output.astype(dt)
        self.gl = None if self.grad_logsumexp is None else self.grad_logsumexp.astype(dt)
        self.s = dt.type(self.E ** -0.5 if self.scale is None else self.scale)
        self.L = np.full(self.B, self.T) if self.key_lengths is None else np.asarray(self.key_lengths).astype(int)
        self.N = np.full(self.B, self.S) if self.query_lengths is None else np.asarray(self.query_lengths).astype(int)
        self.cap = dt.type(self.softcap) if self.softcap else None

    def position(self):
        p = np.arange(self.S)[None, :] + np.zeros((self.B, 1), int)
        if self.causal_alignment == "bottom_right":
            p = p + (self.L - self.N)[:, None]
        self.p = p[:, None, :, None]
        self.j = np.arange(self.T)[None, None, None, :]

    def allow(self):
        B, H, S, T = self.B, self.H, self.S, self.T
        i = np.arange(S)[None, None, :, None]
        ok = (self.j < self.L[:, None, None, None]) & (i < self.N[:, None, None, None])
        if self.is_causal:
            ok = ok & (self.j <= self.p)
        if self.window is not None:
            l, r = self.window
            if l is not None:
                ok = ok & (self.j >= self.p - l)
            if r is not None:
                ok = ok & (self.j <= self.p + r)
        if self.mask is not None:
            ok = ok & (self.mask if self.mask.dtype == bool else self.mask.astype(self.dt) != -np.inf)
        self.ok = np.broadcast_to(ok, (B, H, S, T))
        self.counts = np.broadcast_to((i < self.N[:, None, None, None])[..., 0], (B, H, S))

    def score(self):
        self.scores = (self.q @ self.k.swapaxes(-1, -2)) * self.s

    def logit(self):
        x = self.scores
        if self.cap is not None:
            x = self.cap * np.tanh(x / self.cap)
        if self.alibi_slopes is not None:
            x = x - self.alibi_slopes.astype(self.dt)[None, :, None, None] * np.abs(self.p - self.j).astype(self.dt)
        if self.mask is not None and self.mask.dtype != bool:
            x = x + self.mask.astype(self.dt)
        self.logits = np.where(self.ok, x, -np.inf)

    def softmax(self):
        m = self.logits.max(-1, initial=-np.inf)
        sink = None if self.sinks is None else self.sinks.astype(self.dt)[None, :, None]
        if sink is not None:
            m = np.maximum(m, sink)
        m = np.where(m == -np.inf, 0, m).astype(self.dt)
        e = np.where(self.ok, np.exp(self.logits - m[..., None]), 0)
        total = e.sum(-1)
        if sink is not None:
            x = np.exp(sink - m)
            total = total + x
        safe = np.where(total == 0, 1, total)
        self.w = (e / safe[..., None]).astype(self.dt)
        self.share = None if sink is None else x / safe
        self.lse = np.where(total == 0, -np.inf, m + np.log(safe))

    def values(self):
        self.gv = mm(self.w.swapaxes(-1, -2), self.do, self.ok.swapaxes(-1, -2))

    def gradweights(self):
        self.gw = np.where(self.ok, self.do @ self.v.swapaxes(-1, -2), 0)

    def find_delta(self):
        self.delta = (self.w * self.gw).sum(-1)

    def gradlogits(self):
        x = self.gw - self.delta[..., None]
        if self.gl is not None:
            x = x + self.gl[..., None]
        self.gx = np.where(self.ok, self.w * x, 0)

    def gradmask(self):
        self.gm = None
        if self.mask is not None and self.mask.dtype != bool:
            g = self.gx
            sh = (1,) * (4 - self.mask.ndim) + self.mask.shape
            for ax in range(4):
                if sh[ax] == 1:
                    g = g.sum(ax, keepdims=True)
            self.gm = g.reshape(self.mask.shape)

    def gradsinks(self):
        self.gs = None
        if self.sinks is not None:
            x = -self.delta if self.gl is None else self.gl - self.delta
            self.gs = np.where(self.counts, self.share * x, 0).sum((0, 2))

    def gradscores(self):
        self.ds = self.gx
        if self.cap is not None:
            t = np.tanh(self.scores / self.cap)
            self.ds = np.where(self.ok, self.gx * (1 - t * t), 0)

    def gradquery(self):
        self.gq = self.s * mm(self.ds, self.k, self.ok)

    def gradkey(self):
        self.gk = self.s * mm(self.ds.swapaxes(-1, -2), self.q, self.ok.swapaxes(-1, -2))

    def group(self):
        self.gk = self.gk.reshape(self.B, self.G, self.R, self.T, self.E).sum(2)
        self.gv = self.gv.reshape(self.B, self.G, self.R, self.T, self.value.shape[3]).sum(2)

    def answer(self):
        dt = self.query.dtype
        out = {"grad_query": self.gq.astype(dt), "grad_key": self.gk.astype(dt), "grad_value": self.gv.astype(dt)}
        if self.gm is not None:
            out["grad_mask"] = self.gm.astype(dt)
        if self.gs is not None:
            out["grad_sinks"] = self.gs.astype(dt)
        out["delta"] = self.delta.astype(dt)
        out["grad_scores"] = self.ds.astype(dt)
        return out


def entry(cls):
    def scaled_dot_product_attention_backward(
            grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
            key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None):
        return cls().run(dict(
            grad_output=grad_output, query=query, key=key, value=value, output=output, logsumexp=logsumexp,
            grad_logsumexp=grad_logsumexp, mask=mask, key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks,
            alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale,
            softcap=softcap, window=window))
    return scaled_dot_product_attention_backward


scaled_dot_product_attention_backward = entry(Backward)


def forward(a):
    """output and logsumexp of the same inputs"""
    b = Backward()
    full = dict(output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None, sinks=None,
                alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None)
    full.update(a)
    for k, v in full.items():
        setattr(b, k, v)
    with np.errstate(all="ignore"):
        b.prepare(); b.position(); b.allow(); b.score(); b.logit(); b.softmax()
        return mm(b.w, b.v, b.ok), b.lse

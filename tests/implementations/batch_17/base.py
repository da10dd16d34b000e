"""Right gradients of scaled dot-product attention. Each step is a method that a subclass may replace."""
import numpy as np

NAMES = ("grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks", "delta", "grad_scores")


def check(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths):
    for t in (query, key, value):
        if t.ndim != 4:
            raise ValueError("rank")
    b, hq, sq, e = query.shape
    hkv, sk = key.shape[1:3]
    ev = value.shape[3]
    if key.shape[3] != e:
        raise ValueError("width")
    if key.shape[0] != b or value.shape[0] != b:
        raise ValueError("batch")
    if value.shape[1] != hkv or (hq % hkv if hkv else hq):
        raise ValueError("heads")
    if value.shape[2] != sk:
        raise ValueError("length")
    for lengths, most in ((key_lengths, sk), (query_lengths, sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            if lengths.shape != (b,):
                raise ValueError("batch of lengths")
            if (lengths < 0).any() or (lengths > most).any():
                raise ValueError("lengths")
    if grad_output.shape != (b, hq, sq, ev):
        raise ValueError("grad_output")
    if grad_logsumexp is not None and grad_logsumexp.shape != (b, hq, sq):
        raise ValueError("grad_logsumexp")
    if mask is not None:
        check_mask(mask, b, hq, sq, sk)


def check_mask(mask, b, hq, sq, sk):
    if not 2 <= mask.ndim <= 4 or mask.shape[-1] != sk:
        raise ValueError("mask")
    for n, m in zip((b, hq, sq, sk)[4 - mask.ndim:], mask.shape):
        if m != n and m != 1:
            raise ValueError("mask")


def unbroadcast(x, shape):
    x = x.sum(axis=tuple(range(x.ndim - len(shape)))) if x.ndim > len(shape) else x
    for axis, n in enumerate(shape):
        if n == 1 and x.shape[axis] != 1:
            x = x.sum(axis=axis, keepdims=True)
    return x


def multiply(w, attend, x):
    """w @ x, where w is 0 outside of attend and what x holds there has no effect."""
    bad = ~np.isfinite(x).all(-1)
    if not bad.any():
        return w @ x
    out = w @ np.where(bad[..., None], 0, x)
    for at in np.argwhere(bad):
        b, h, j = at
        rows = attend[b, h, :, j]
        out[b, h, rows] += w[b, h, rows, j][:, None] * x[b, h, j]
    return out


class Backward:
    def __init__(self, grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
                 key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                 causal_alignment="top_left", scale=None, softcap=None, window=None):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})
        self.dtype = query.dtype
        self.work = np.float64 if self.dtype == np.float64 else np.float32

    def w(self, x):
        return np.asarray(x).astype(self.work)

    def check(self):
        check(self.grad_output, self.query, self.key, self.value, self.grad_logsumexp, self.mask, self.key_lengths,
              self.query_lengths)

    def sizes(self):
        self.b, self.hq, self.sq, self.e = self.query.shape
        self.hkv, self.sk = self.key.shape[1:3]
        self.group = self.hq // self.hkv if self.hkv else 1
        self.factor = 1 / np.sqrt(self.e) if self.scale is None else self.scale
        self.factor = self.work(self.factor)

    def place(self):
        """L and N (B), p (B, Sq), distance p - j (B, 1, Sq, Sk)."""
        self.l = np.full(self.b, self.sk) if self.key_lengths is None else np.asarray(self.key_lengths)
        self.n = np.full(self.b, self.sq) if self.query_lengths is None else np.asarray(self.query_lengths)
        offset = self.l - self.n if self.causal_alignment == "bottom_right" else np.zeros(self.b, int)
        self.p = np.arange(self.sq)[None] + offset[:, None]
        self.distance = (self.p[:, :, None] - np.arange(self.sk))[:, None]

    def mask_full(self):
        return np.broadcast_to(self.mask, (self.b, self.hq, self.sq, self.sk))

    def sides(self):
        return self.window if self.window is not None else (None, None)

    def attendable(self):
        a = np.ones((self.b, self.hq, self.sq, self.sk), bool)
        a &= (np.arange(self.sk) < self.l[:, None])[:, None, None]
        a &= (np.arange(self.sq) < self.n[:, None])[:, None, :, None]
        if self.is_causal:
            a &= self.distance >= 0
        left, right = self.sides()
        if left is not None:
            a &= self.distance <= left
        if right is not None:
            a &= -self.distance <= right
        if self.mask is not None:
            m = self.mask_full()
            a &= m if m.dtype == bool else ~np.isneginf(self.w(m))
        self.attend = a

    def widen(self):
        rep = lambda x: np.repeat(self.w(x), self.group, axis=1)
        self.q, self.k, self.v, self.do = self.w(self.query), rep(self.key), rep(self.value), self.w(self.grad_output)

    def alibi_distance(self):
        return abs(self.distance)

    def find_logits(self):
        self.s = self.factor * (self.q @ np.swapaxes(self.k, -1, -2))
        self.capped = self.s
        if self.softcap:
            self.tanh = np.tanh(self.s / self.work(self.softcap))
            self.capped = self.tanh * self.work(self.softcap)
        x = self.capped
        if self.alibi_slopes is not None:
            x = x - self.w(self.alibi_slopes)[:, None, None] * self.alibi_distance().astype(self.work)
        if self.mask is not None and self.mask_full().dtype != bool:
            x = x + self.w(self.mask_full())
        self.logits = np.where(self.attend, x, -np.inf)

    def find_logsumexp(self):
        if self.logsumexp is not None:
            return self.w(self.logsumexp)
        x = self.logits
        if self.sinks is not None:
            sink = np.broadcast_to(self.w(self.sinks)[:, None, None], x.shape[:3] + (1,))
            x = np.concatenate([x, sink], -1)
        top = x.max(-1, initial=-np.inf)
        safe = np.where(np.isneginf(top), 0, top)
        return np.log(np.exp(x - safe[..., None]).sum(-1)) + safe

    def find_weights(self):
        self.lse = self.find_logsumexp()
        self.weights = np.where(self.attend, np.exp(self.logits - self.lse[..., None]), 0)

    def find_grad_weights(self):
        self.dp = np.where(self.attend, self.do @ np.swapaxes(self.v, -1, -2), 0)

    def find_delta(self):
        if self.output is not None:
            d = (self.do * self.w(self.output)).sum(-1)
            self.d = np.where(self.attend.any(-1), d, 0)
        else:
            self.d = (self.weights * self.dp).sum(-1)

    def find_grad_logits(self):
        x = self.dp - self.d[..., None]
        if self.grad_logsumexp is not None:
            x = x + self.w(self.grad_logsumexp)[..., None]
        self.dl = np.where(self.attend, self.weights * x, 0)

    def find_grad_scores(self):
        self.ds = self.dl * (1 - self.tanh ** 2) if self.softcap else self.dl
        self.ds = np.where(self.attend, self.ds, 0)

    def find_grad_mask(self):
        return unbroadcast(self.dl, self.mask.shape)

    def counted(self):
        return (np.arange(self.sq) < self.n[:, None])[:, None]

    def find_grad_sinks(self):
        share = np.exp(self.w(self.sinks)[:, None] - self.lse)
        x = -self.d
        if self.grad_logsumexp is not None:
            x = self.w(self.grad_logsumexp) + x
        return np.where(self.counted(), share * x, 0).sum((0, 2))

    def fold(self, x):
        return x.reshape((self.b, self.hkv, self.group) + x.shape[2:]).sum(2)

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.sizes()
            return self.steps()

    def steps(self):
        self.place()
        self.attendable()
        self.widen()
        self.find_logits()
        self.find_weights()
        self.find_grad_weights()
        self.find_delta()
        self.find_grad_logits()
        self.find_grad_scores()
        return self.results()

    def results(self):
        turn = lambda x: np.swapaxes(x, -1, -2)
        out = {}
        out["grad_query"] = self.factor * multiply(self.ds, self.attend, self.k)
        out["grad_key"] = self.factor * self.fold(multiply(turn(self.ds), turn(self.attend), self.q))
        out["grad_value"] = self.fold(multiply(turn(self.weights), turn(self.attend), self.do))
        if self.mask is not None and self.mask.dtype != bool:
            out["grad_mask"] = self.find_grad_mask()
        if self.sinks is not None:
            out["grad_sinks"] = self.find_grad_sinks()
        out["delta"] = self.d
        out["grad_scores"] = self.ds
        return {k: v.astype(self.dtype) for k, v in out.items()}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return Backward(**locals()).run()


def forward(query, key, value, mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None,
            is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None, **_):
    """output and logsumexp in float64, for stored cases, by a plain loop."""
    b, hq, sq, e = query.shape
    hkv, sk = key.shape[1:3]
    q, k, v = (np.asarray(x).astype(np.float64) for x in (query, key, value))
    o, lse = np.zeros((b, hq, sq, v.shape[3])), np.full((b, hq, sq), -np.inf)
    m = None if mask is None else np.broadcast_to(mask, (b, hq, sq, sk))
    for ib in range(b):
        l = sk if key_lengths is None else int(key_lengths[ib])
        n = sq if query_lengths is None else int(query_lengths[ib])
        for h in range(hq):
            for i in range(n):
                p = i + (l - n if causal_alignment == "bottom_right" else 0)
                xs, vs = [], []
                for j in range(l):
                    if is_causal and j > p: continue
                    if window is not None and window[0] is not None and j < p - window[0]: continue
                    if window is not None and window[1] is not None and j > p + window[1]: continue
                    if m is not None and (not m[ib, h, i, j] if m.dtype == bool else np.isneginf(float(m[ib, h, i, j]))): continue
                    x = (1 / np.sqrt(e) if scale is None else scale) * (q[ib, h, i] @ k[ib, h // (hq // hkv), j])
                    if softcap: x = softcap * np.tanh(x / softcap)
                    if alibi_slopes is not None: x -= float(alibi_slopes[h]) * abs(p - j)
                    if m is not None and m.dtype != bool: x += float(m[ib, h, i, j])
                    xs.append(x); vs.append(v[ib, h // (hq // hkv), j])
                if sinks is not None:
                    xs.append(float(sinks[h])); vs.append(np.zeros(v.shape[3]))
                if xs:
                    xs = np.array(xs); t = xs.max(); ex = np.exp(xs - t)
                    o[ib, h, i] = (ex / ex.sum()) @ np.array(vs); lse[ib, h, i] = np.log(ex.sum()) + t
    return o, lse

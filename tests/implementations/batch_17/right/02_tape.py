"""A small tape: each operation notes how its gradient goes back, and the loss is walked from its end."""
import numpy as np

conventions = {"masked_nonfinite": "propagates"}


class Tape:
    def __init__(self):
        self.steps, self.grads = [], {}

    def add(self, x, g):
        key = self.key(x)
        self.grads[key] = self.grads[key] + g if key in self.grads else g

    def key(self, x):
        return id(x)

    def note(self, out, *back):
        """back: pairs of an operand and the function from the gradient of out to that of the operand"""
        self.steps.append((out, back))
        return out

    def walk(self):
        for out, back in reversed(self.steps):
            g = self.grads.get(self.key(out))
            if g is not None:
                for x, fn in back:
                    self.add(x, fn(g))

    def get(self, x):
        return self.grads[self.key(x)] if self.key(x) in self.grads else np.zeros(x.shape)


def down(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1), keepdims=True)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank")
    (B, Hq, Sq, E), (Hkv, Sk), Ev = query.shape, key.shape[1:3], value.shape[3]
    if key.shape != (B, Hkv, Sk, E) or value.shape[:3] != (B, Hkv, Sk) or (Hq % Hkv if Hkv else Hq):
        raise ValueError("query, key and value")
    if grad_output.shape != (B, Hq, Sq, Ev) or not (grad_logsumexp is None or grad_logsumexp.shape == (B, Hq, Sq)):
        raise ValueError("gradients")
    if mask is not None and not (2 <= mask.ndim <= 4 and mask.shape[-1] == Sk
                                 and all(m in (1, n) for m, n in zip(mask.shape[::-1], (Sk, Sq, Hq, B)))):
        raise ValueError("mask")
    for n, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if n is not None and (len(n) != B or min(n, default=0) < 0 or max(n, default=0) > most):
            raise ValueError("lengths")
    T = np.float64 if query.dtype == np.float64 else np.float32
    sc = T(E ** -0.5 if scale is None else scale)
    L = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    i, j = np.arange(Sq)[:, None], np.arange(Sk)
    place = i[None] + ((L - N)[:, None, None] if causal_alignment == "bottom_right" else 0)
    gap = np.broadcast_to((place - j)[:, None], (B, 1, Sq, Sk))
    counted = np.broadcast_to((i[None] < N[:, None, None])[:, None], (B, 1, Sq, 1))
    see = counted & (j < L[:, None, None])[:, None] & np.ones((B, Hq, Sq, Sk), bool)
    if is_causal:
        see = see & (gap >= 0)
    if window is not None and window[0] is not None:
        see = see & (gap <= window[0])
    if window is not None and window[1] is not None:
        see = see & (gap >= -window[1])
    if mask is not None:
        see = see & (mask if mask.dtype == bool else mask != -np.inf)
    G = Hq // Hkv if Hkv else 1
    query, key, value = query[:], key[:], value[:]  # leaves of their own
    mask, sinks = (x if x is None else x[:] for x in (mask, sinks))

    t = Tape()
    with np.errstate(all="ignore"):
        wide = lambda x: t.note(x.astype(T), (x, lambda g: g))
        share = lambda x: t.note(np.repeat(x, G, 1), (x, lambda g: g.reshape((B, Hkv, G) + g.shape[2:]).sum(2)))
        pick = lambda x, a, other: t.note(np.where(a, x, T(other)), (x, lambda g: np.where(a, g, 0)))
        q = pick(wide(query), counted, 0)
        k, v = share(wide(key)), share(wide(value))
        x = t.note(sc * (q @ k.swapaxes(2, 3)), (q, lambda g: sc * (g @ k)), (k, lambda g: sc * (g.swapaxes(2, 3) @ q)))
        if softcap:
            th = np.tanh(x / T(softcap))
            x = t.note(T(softcap) * th, (x, lambda g: g * (1 - th * th)))
        if alibi_slopes is not None:
            x = t.note(x - alibi_slopes.astype(T)[:, None, None] * abs(gap).astype(T), (x, lambda g: g))
        if mask is not None and mask.dtype != bool:
            x = t.note(x + mask.astype(T), (x, lambda g: g), (mask, lambda g: down(g, mask.shape)))
        x = pick(x, see, -np.inf)
        top = x.max(-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = sinks.astype(T)[:, None, None]
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0, top)
        ex = np.exp(x - top)
        total = ex.sum(-1, keepdims=True)
        back = []
        if sinks is not None:
            total = total + np.exp(sink - top)
            back = [(sinks, lambda g: (g * np.exp(sink - lse)).sum((0, 2, 3)))]
        lse = np.log(total) + top
        lse = t.note(lse, (x, lambda g: g * np.where(see, np.exp(x - lse), 0)), *back)
        w = np.where(see, np.exp(x - lse), 0)
        w = t.note(w, (x, lambda g: np.where(see, g * w, 0)), (lse, lambda g: -(g * w).sum(-1, keepdims=True)))
        o = t.note(w @ v, (w, lambda g: np.where(see, g @ v.swapaxes(2, 3), 0)), (v, lambda g: w.swapaxes(2, 3) @ g))
        t.add(o, np.where(counted & see.any(-1, keepdims=True), grad_output.astype(T), 0))
        if grad_logsumexp is not None:
            used = counted if sinks is not None else see.any(-1, keepdims=True)
            t.add(lse, np.where(used, grad_logsumexp.astype(T)[..., None], 0))
        t.walk()
    out = [t.get(query), t.get(key), t.get(value)]
    if mask is not None and mask.dtype != bool:
        out.append(t.get(mask))
    if sinks is not None:
        out.append(t.get(sinks))
    return tuple(g.astype(query.dtype) for g in out)

"""Right implementations of the gradients of attention, from the page.

reference: one query at a time, over the keys that it may attend to alone.
Backward:  whole matrices, step by step, each step a method.
"""
import math
from contextlib import ContextDecorator
from types import SimpleNamespace

import numpy as np


class Quiet(ContextDecorator):
    """np.errstate that may be entered again inside itself."""

    def __init__(self):
        self.stack = []

    def __enter__(self):
        self.stack.append(np.errstate(all="ignore"))
        return self.stack[-1].__enter__()

    def __exit__(self, *what):
        return self.stack.pop().__exit__(*what)


quiet = Quiet()


def window_sides(window):
    if window is None:
        return None, None
    left, right = window
    return left, right


def check(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
          key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
          causal_alignment="top_left", scale=None, softcap=None, window=None):
    for name, array in (("query", query), ("key", key), ("value", value)):
        if np.ndim(array) != 4:
            raise ValueError(f"{name} must have rank 4")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ek = key.shape
    Ev = value.shape[3]
    if E != Ek:
        raise ValueError("query and key differ in width")
    if not (query.shape[0] == key.shape[0] == value.shape[0]):
        raise ValueError("batch sizes differ")
    if key.shape[1] != value.shape[1]:
        raise ValueError("key and value differ in heads")
    if (Hkv == 0 and Hq != 0) or (Hkv and Hq % Hkv):
        raise ValueError("query heads are no multiple of key heads")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in tokens")
    if np.shape(grad_output) != (B, Hq, Sq, Ev):
        raise ValueError("grad_output has another shape than the output")
    if grad_logsumexp is not None and np.shape(grad_logsumexp) != (B, Hq, Sq):
        raise ValueError("grad_logsumexp has another shape than the logsumexp")
    for name, lengths, most in (("key", key_lengths, Sk), ("query", query_lengths, Sq)):
        if lengths is None:
            continue
        if np.shape(lengths) != (B,):
            raise ValueError(f"{name}_lengths is not (B)")
        if any(int(n) < 0 or int(n) > most for n in lengths):
            raise ValueError(f"{name}_lengths out of range")
    if mask is not None:
        if not 2 <= np.ndim(mask) <= 4:
            raise ValueError("mask must have rank 2 to 4")
        if mask.shape[-1] != Sk:
            raise ValueError("last axis of the mask is not that of the keys")
        for n, m in zip(mask.shape[::-1], (Sk, Sq, Hq, B)):
            if n not in (1, m):
                raise ValueError("mask does not broadcast")
    for name, heads in (("sinks", sinks), ("alibi_slopes", alibi_slopes)):
        if heads is not None and np.shape(heads) != (Hq,):
            raise ValueError(f"{name} is not (Hq)")
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError("unknown causal_alignment")
    if softcap is not None and softcap < 0:
        raise ValueError("negative softcap")


def wide(array):
    return None if array is None else np.array(array).astype(np.float64)


@quiet
def plan(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
         key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
         causal_alignment="top_left", scale=None, softcap=None, window=None, cut_rows=True, checked=True):
    """Checks, widens to float64, finds positions, attendable pairs and biases."""
    given = {k: v for k, v in locals().items() if k not in ("cut_rows", "checked")}
    if checked:
        check(**given)
    p = SimpleNamespace(given=given)
    p.dtype = query.dtype
    p.B, p.Hq, p.Sq, p.E = B, Hq, Sq, E = query.shape
    _, p.Hkv, p.Sk, p.Ev = value.shape
    Sk = p.Sk
    p.G = p.Hq // p.Hkv if p.Hkv else 1
    p.q, p.k, p.v, p.do = wide(query), wide(key), wide(value), wide(grad_output)
    p.dlse = np.zeros((B, Hq, Sq)) if grad_logsumexp is None else wide(grad_logsumexp)
    p.sinks = wide(sinks)
    p.output, p.lse_given = output, logsumexp
    p.L = np.full(B, Sk) if key_lengths is None else np.array([int(n) for n in key_lengths], dtype=np.int64)
    p.N = np.full(B, Sq) if query_lengths is None else np.array([int(n) for n in query_lengths], dtype=np.int64)
    p.scale = 1 / math.sqrt(E) if scale is None else float(scale)
    p.c = float(softcap) if softcap is not None and softcap > 0 else None
    p.offset = p.L - p.N if causal_alignment == "bottom_right" else np.zeros(B, dtype=np.int64)
    i, j = np.arange(Sq), np.arange(Sk)
    p.pos = i[None] + p.offset[:, None]                                   # (B, Sq)
    gap = p.pos[:, :, None] - j                                           # (B, Sq, Sk)
    p.counted = i[None] < p.N[:, None]                                    # (B, Sq)
    see = np.broadcast_to((j < p.L[:, None])[:, None, :], gap.shape)
    if is_causal:
        see = see & (gap >= 0)
    left, right = window_sides(window)
    if left is not None:
        see = see & (gap <= left)
    if right is not None:
        see = see & (-gap <= right)
    if cut_rows:
        see = see & p.counted[:, :, None]
    allowed = np.broadcast_to(see[:, None], (B, Hq, Sq, Sk)).copy()
    p.bias = np.zeros((B, Hq, Sq, Sk))
    if alibi_slopes is not None:
        p.bias -= wide(alibi_slopes)[:, None, None] * np.abs(gap)[:, None]
    p.mask = mask
    p.float_mask = mask is not None and mask.dtype != bool
    if mask is not None:
        if p.float_mask:
            m = wide(mask)
            allowed &= ~np.isneginf(m)
            p.bias += np.where(np.isneginf(m), 0.0, m)
        else:
            allowed &= np.asarray(mask)
    p.allowed = allowed
    p.bias = np.where(allowed, p.bias, 0.0)
    if cut_rows:
        rows = np.broadcast_to(p.counted[:, None], (B, Hq, Sq))
        p.q[~rows], p.do[~rows], p.dlse[~rows] = 0, 0, 0
    p.krep, p.vrep = (np.repeat(a, p.G, axis=1) for a in (p.k, p.v))
    return p


def swap(a):
    return np.swapaxes(a, -1, -2)


@quiet
def mm(a, x, allowed):
    """a @ x, to which only the allowed pairs add."""
    if np.isfinite(x).all():
        return a @ x
    return np.where(allowed[..., None], a[..., None] * x[..., None, :, :], 0.0).sum(axis=-2)


@quiet
def like_mask(grad, mask):
    """Sum over whatever the mask was repeated for."""
    grad = grad.sum(axis=tuple(range(grad.ndim - mask.ndim)))
    for axis, n in enumerate(mask.shape):
        if n == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad


@quiet
def finish(p, gq, gk, gv, dl, gsinks, delta, ds, dtype=None):
    dtype = p.dtype if dtype is None else dtype
    out = {"grad_query": gq.astype(dtype), "grad_key": gk.astype(dtype), "grad_value": gv.astype(dtype)}
    if p.float_mask:
        out["grad_mask"] = (dl if dl.shape == p.mask.shape else like_mask(dl, p.mask)).astype(dtype)
    if p.sinks is not None:
        out["grad_sinks"] = gsinks.astype(dtype)
    if delta is not None:
        out["delta"] = delta.astype(dtype)
    if ds is not None:
        out["grad_scores"] = ds.astype(dtype)
    return out


class Backward:
    def __init__(self, p):
        self.p = p

    def scores(self):
        p = self.p
        return np.where(p.allowed, p.scale * (p.q @ swap(p.krep)), 0.0)

    def tanh(self, x):
        return np.tanh(x)

    def softmax(self, logits):
        p = self.p
        top = logits.max(axis=-1, initial=-np.inf)
        if p.sinks is not None:
            top = np.maximum(top, p.sinks[:, None])
        top = np.where(np.isneginf(top), 0.0, top)
        e = np.where(p.allowed, np.exp(logits - top[..., None]), 0.0)
        total = e.sum(axis=-1)
        s = 0.0
        if p.sinks is not None:
            s = np.exp(p.sinks[:, None] - top)
            total = total + s
        whole = np.where(total == 0, 1.0, total)
        return np.where(p.allowed, e / whole[..., None], 0.0), s / whole

    def forward(self):
        p = self.p
        self.s = self.scores()
        self.t = self.tanh(self.s / p.c) if p.c else None
        capped = p.c * self.t if p.c else self.s
        self.logits = np.where(p.allowed, capped + p.bias, -np.inf)
        self.w, self.share = self.softmax(self.logits)

    def grad_weights(self):
        p = self.p
        return np.where(p.allowed, p.do @ swap(p.vrep), 0.0)

    def grad_value(self):
        p = self.p
        return mm(swap(self.w), p.do, swap(p.allowed))

    def get_delta(self):
        return (self.w * self.dw).sum(axis=-1)

    def grad_logits(self):
        p = self.p
        return np.where(p.allowed, self.w * (self.dw - self.delta[..., None] + p.dlse[..., None]), 0.0)

    def grad_scores(self):
        return self.dl if self.t is None else np.where(self.p.allowed, self.dl * (1 - self.t**2), 0.0)

    def grad_query(self):
        p = self.p
        return p.scale * mm(self.ds, p.krep, p.allowed)

    def grad_key(self):
        p = self.p
        return p.scale * mm(swap(self.ds), p.q, swap(p.allowed))

    def rows(self):
        return np.broadcast_to(self.p.counted[:, None], self.p.dlse.shape)

    def grad_sinks(self):
        p = self.p
        return np.where(self.rows(), self.share * (p.dlse - self.delta), 0.0).sum(axis=(0, 2))

    def grad_mask(self):
        return self.dl

    def group_sum(self, a):
        p = self.p
        return a.reshape((p.B, p.Hkv, p.G) + a.shape[2:]).sum(axis=2)

    def run(self, dtype=None):
        with quiet:
            self.forward()
            self.dw = self.grad_weights()
            self.delta = self.get_delta()
            self.dl = self.grad_logits()
            self.ds = self.grad_scores()
            gs = self.grad_sinks() if self.p.sinks is not None else None
            return finish(self.p, self.grad_query(), self.group_sum(self.grad_key()), self.group_sum(self.grad_value()),
                          self.grad_mask(), gs, self.delta, self.ds, dtype)


def matrices(**given):
    return Backward(plan(**given)).run()


@quiet
def reference(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
              key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
              causal_alignment="top_left", scale=None, softcap=None, window=None):
    check(**locals())
    dtype = query.dtype
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ev = value.shape
    q, k, v, do = wide(query), wide(key), wide(value), wide(grad_output)
    a = 1 / math.sqrt(E) if scale is None else float(scale)
    gq, gk, gv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    delta, gs_all, gl_all = np.zeros((B, Hq, Sq)), np.zeros((B, Hq, Sq, Sk)), np.zeros((B, Hq, Sq, Sk))
    gsink = np.zeros(Hq)
    full = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, Sk))
    is_float = mask is not None and mask.dtype != bool
    left, right = window_sides(window)
    for b in range(B):
        L = Sk if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        for h in range(Hq):
            g = h // (Hq // Hkv)
            for i in range(N):
                pos = i + L - N if causal_alignment == "bottom_right" else i
                keys = []
                for j in range(L):
                    if is_causal and j > pos:
                        continue
                    if left is not None and j < pos - left:
                        continue
                    if right is not None and j > pos + right:
                        continue
                    if full is not None and (float(full[b, h, i, j]) == -math.inf if is_float else not full[b, h, i, j]):
                        continue
                    keys.append(j)
                keys = np.array(keys, dtype=np.int64)
                dl_i = 0.0 if grad_logsumexp is None else float(grad_logsumexp[b, h, i])
                if not keys.size:
                    if sinks is not None:
                        gsink[h] += dl_i
                    continue
                s = a * (k[b, g, keys] @ q[b, h, i])
                factor = 1.0
                z = s
                if softcap:
                    z = softcap * np.tanh(s / softcap)
                    factor = 1 - np.tanh(s / softcap) ** 2
                if alibi_slopes is not None:
                    z = z - float(alibi_slopes[h]) * np.abs(pos - keys)
                if is_float:
                    z = z + full[b, h, i, keys].astype(np.float64)
                top = z.max()
                if sinks is not None:
                    top = np.maximum(top, float(sinks[h]))
                e = np.exp(z - top)
                total = e.sum() + (np.exp(float(sinks[h]) - top) if sinks is not None else 0.0)
                w = e / total
                dw = v[b, g, keys] @ do[b, h, i]
                d = (w * dw).sum()
                gl = w * (dw - d + dl_i)
                gs = gl * factor
                delta[b, h, i] = d
                gl_all[b, h, i, keys] = gl
                gs_all[b, h, i, keys] = gs
                gq[b, h, i] = a * (gs @ k[b, g, keys])
                gk[b, g, keys] += a * gs[:, None] * q[b, h, i]
                gv[b, g, keys] += w[:, None] * do[b, h, i]
                if sinks is not None:
                    gsink[h] += np.exp(float(sinks[h]) - top) / total * (dl_i - d)
    out = {"grad_query": gq, "grad_key": gk, "grad_value": gv}
    if is_float:
        out["grad_mask"] = like_mask(gl_all, mask)
    if sinks is not None:
        out["grad_sinks"] = gsink
    out["delta"], out["grad_scores"] = delta, gs_all
    return {name: array.astype(dtype) for name, array in out.items()}


def stored(**given):
    """The exact output and logsumexp, rounded to the dtype of the run."""
    f = Backward(plan(**{k: x for k, x in given.items() if k not in ("output", "logsumexp")}))
    with quiet:
        f.forward()
        p = f.p
        out = mm(f.w, p.vrep, p.allowed)
        top = f.logits.max(axis=-1, initial=-np.inf)
        if p.sinks is not None:
            top = np.maximum(top, p.sinks[:, None])
        base = np.where(np.isneginf(top), 0.0, top)
        total = np.exp(f.logits - base[..., None]).sum(-1)
        if p.sinks is not None:
            total = total + np.exp(p.sinks[:, None] - base)
        return out.astype(p.dtype), (base + np.log(total)).astype(p.dtype)

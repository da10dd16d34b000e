"""A small tape: every operation knows how to hand its gradient back; gradients of a tensor add up."""
import numpy as np


def refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("query, key and value have four axes")
    (B, Hq, Sq, E), (Bk, Hkv, Sk, Ek), (Bv, Hv, Sv, Ev) = query.shape, key.shape, value.shape
    if E != Ek or B != Bk or B != Bv or Hkv != Hv or Sk != Sv:
        raise ValueError("query, key and value do not fit")
    if (Hkv == 0 and Hq) or (Hkv and Hq % Hkv):
        raise ValueError("heads do not divide")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            if np.shape(lengths) != (B,) or any(int(n) < 0 or int(n) > most for n in lengths):
                raise ValueError("lengths")
    if mask is not None:
        want = (B, Hq, Sq, Sk)
        if mask.ndim < 2 or mask.ndim > 4:
            raise ValueError("mask")
        if any(n != 1 and n != want[4 - mask.ndim + a] for a, n in enumerate(mask.shape)):
            raise ValueError("mask")
    for x in (grad_output, output):
        if x is not None and x.shape != (B, Hq, Sq, Ev):
            raise ValueError("shape of a gradient")
    for x in (logsumexp, grad_logsumexp):
        if x is not None and x.shape != (B, Hq, Sq):
            raise ValueError("shape of a gradient")


class Tensor:
    def __init__(self, data, parents=(), back=None):
        self.data, self.parents, self.back, self.grad = data, parents, back, None

    def add(self, g):
        while g.ndim > self.data.ndim:
            g = g.sum(0)
        for axis, n in enumerate(self.data.shape):
            if n == 1 and g.shape[axis] != 1:
                g = g.sum(axis, keepdims=True)
        self.grad = g if self.grad is None else self.grad + g


def backward(root, seed):
    order, done = [], set()

    def visit(t):
        if id(t) not in done:
            done.add(id(t))
            for parent in t.parents:
                visit(parent)
            order.append(t)

    visit(root)
    root.grad = seed
    for t in reversed(order):
        if t.back is not None and t.grad is not None:
            t.back(t.grad)


def safe(a, keep, x):
    if np.isfinite(x).all() and np.isfinite(a).all():
        return a @ x
    return np.where(keep[..., None], a[..., None] * x[..., None, :, :], 0).sum(-2, dtype=a.dtype)


def times(a, number):
    return Tensor(a.data * number, (a,), lambda g: a.add(g * number))


def plus(a, b):
    def back(g):
        a.add(g)
        b.add(g)
    return Tensor(a.data + b.data, (a, b), back)


def cap(a, c):
    t = np.tanh(a.data / c)
    return Tensor(c * t, (a,), lambda g: a.add(g * (1 - t * t)))


def scores(q, k, keep):
    def back(g):
        q.add(safe(g, keep, k.data))
        k.add(safe(g.swapaxes(-1, -2), keep.swapaxes(-1, -2), q.data))
    return Tensor(q.data @ k.data.swapaxes(-1, -2), (q, k), back)


def repeat(a, n):
    def back(g):
        B, H, S, D = a.data.shape
        a.add(g.reshape(B, H, n, S, D).sum(2))
    return Tensor(np.repeat(a.data, n, 1), (a,), back)


def attend(logits, sink, v, keep, rows, glse):
    """output and logsumexp in one: its seed is the gradient of the output"""
    x = np.where(keep, logits.data, -np.inf)
    top = x.max(-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        s = sink.data[None, :, None, None]
        top = np.maximum(top, s)
    top = np.where(np.isneginf(top), 0, top)
    e = np.exp(x - top)
    z = e.sum(-1, keepdims=True)
    if sink is not None:
        z = z + np.exp(s - top)
    w = np.where(keep, e / np.where(z == 0, 1, z), 0)

    def back(g):
        g = np.where(rows, g, 0)
        v.add(safe(w.swapaxes(-1, -2), keep.swapaxes(-1, -2), g))
        gw = np.where(keep, g @ v.data.swapaxes(-1, -2), 0)
        mean = (w * gw).sum(-1, keepdims=True)
        logits.add(np.where(keep, w * (gw - mean + glse), 0))
        if sink is not None:
            sink.add(np.where(rows, np.exp(s - top) / z * (glse - mean), 0)[..., 0].sum((0, 2)))
    parents = (logits, v) if sink is None else (logits, v, sink)
    return Tensor(safe(w, keep, v.data), parents, back)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1], key.shape[2]
    wide = np.promote_types(query.dtype, np.float32)
    leaf = lambda x: Tensor(x.astype(wide))
    q, k, v = leaf(query), leaf(key), leaf(value)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(int)
    L = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths).astype(int)
    shift = (L - N if causal_alignment == "bottom_right" else 0 * N)[:, None, None, None]
    i, j = np.arange(Sq)[:, None], np.arange(Sk)[None, :]
    gap = j - i - shift
    rows = np.broadcast_to(i < N[:, None, None, None], (B, Hq, Sq, 1))
    keep = rows & (j < L[:, None, None, None])
    if is_causal:
        keep = keep & (gap <= 0)
    left, right = window or (None, None)
    keep = keep if left is None else keep & (gap >= -left)
    keep = keep if right is None else keep & (gap <= right)
    if mask is not None:
        keep = keep & (mask if mask.dtype == bool else ~np.isneginf(mask))
    with np.errstate(all="ignore"):
        group = Hq // Hkv if Hkv else 1
        x = times(scores(q, repeat(k, group), keep), wide.type(E ** -0.5 if scale is None else scale))
        if softcap:
            x = cap(x, wide.type(softcap))
        if alibi_slopes is not None:
            x = plus(x, Tensor(-alibi_slopes.astype(wide)[:, None, None] * np.abs(gap).astype(wide)))
        bias = sink = None
        if mask is not None and mask.dtype != bool:
            bias = leaf(mask)
            x = plus(x, bias)
        if sinks is not None:
            sink = leaf(sinks)
        glse = np.zeros((B, Hq, Sq, 1), wide)
        if grad_logsumexp is not None:
            glse = np.where(rows, grad_logsumexp[..., None].astype(wide), 0)
        backward(attend(x, sink, repeat(v, group), keep, rows, glse), grad_output.astype(wide))
    result = [q.grad, k.grad, v.grad]
    if bias is not None:
        result.append(bias.grad)
    if sink is not None:
        result.append(sink.grad)
    return tuple(x.astype(query.dtype) for x in result)

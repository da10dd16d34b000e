"""Right implementations after the pages; float64 inside unless `work` says otherwise. Parts may be overridden."""
from types import SimpleNamespace

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")


class Refused(ValueError):
    pass


def refuse(condition, why):
    if condition:
        raise Refused(why)


def own_work(dtype):
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def cast(array, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


# ---------------------------------------------------------------------------------------------------------- softmax


def softmax(x, axis=-1, work=np.float64):
    x = np.asarray(x)
    if axis is not None and x.ndim:
        refuse(not -x.ndim <= axis < x.ndim, "axis out of range")
    wide = x.astype(work)
    if wide.size == 0:
        return cast(wide, x.dtype)
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        return cast(powers / powers.sum(axis=axis, keepdims=True), x.dtype)


# ------------------------------------------------------------------------------------------------------------ merge


def merge_checks(output_a, logsumexp_a, output_b, logsumexp_b):
    refuse(output_a.ndim != 4 or output_b.ndim != 4, "outputs must have rank 4")
    refuse(logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3, "logarithms must have rank 3")
    refuse(output_a.shape != output_b.shape, "outputs of different shapes")
    refuse(logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3], "logarithms of another shape")


def merge_arrays(*arrays):
    return [np.asarray(array) for array in arrays]


def merge_finish(output, logsumexp, dtype):
    return {"output": cast(output, dtype), "logsumexp": cast(logsumexp, dtype)}


def merge_core(oa, la, ob, lb, has_a, has_b, larger=None):
    """On widened arrays. has_*: which rows of a part have keys."""
    with np.errstate(all="ignore"):
        m = np.maximum(np.where(has_a, la, -np.inf), np.where(has_b, lb, -np.inf)) if larger is None else larger
        some = has_a | has_b
        m = np.where(some, m, 0)
        wa, wb = np.where(has_a, np.exp(la - m), 0), np.where(has_b, np.exp(lb - m), 0)
        total = np.where(some, wa + wb, 1)
        sa, sb = (wa / total)[..., None], (wb / total)[..., None]
        output = np.where(has_a[..., None], sa * oa, 0) + np.where(has_b[..., None], sb * ob, 0)
        logsumexp = np.where(some, m + np.log(total), -np.inf)
    return output, logsumexp


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b, work=np.float64):
    oa, la, ob, lb = merge_arrays(output_a, logsumexp_a, output_b, logsumexp_b)
    merge_checks(oa, la, ob, lb)
    dtype = oa.dtype
    oa, la, ob, lb = (array.astype(work) for array in (oa, la, ob, lb))
    output, logsumexp = merge_core(oa, la, ob, lb, la != -np.inf, lb != -np.inf)
    return merge_finish(output, logsumexp, dtype)


# --------------------------------------------------------------------------------------------------------- backward

DEFAULTS = dict(
    output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
)


class Backward:
    """One query at a time, over the keys that it may attend to."""

    def work(self, dtype):
        return np.float64

    def check_grad_logsumexp(self, array, shape):
        refuse(array.shape != shape, "grad_logsumexp of another shape")
        return array

    def prepare(self, grad_output, query, key, value, **rest):
        unknown = set(rest) - set(DEFAULTS)
        if unknown:
            raise TypeError(f"unknown arguments {unknown}")
        r = SimpleNamespace(**{**DEFAULTS, **rest})
        go, q, k, v = (np.asarray(array) for array in (grad_output, query, key, value))
        refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "query, key and value must have rank 4")
        refuse(not q.shape[0] == k.shape[0] == v.shape[0], "different batch sizes")
        refuse(q.shape[3] != k.shape[3], "query and key of different widths")
        refuse(k.shape[1] != v.shape[1], "key and value of different heads")
        refuse(q.shape[1] % k.shape[1] != 0 if k.shape[1] else q.shape[1] != 0, "query heads no multiple of key heads")
        refuse(k.shape[2] != v.shape[2], "key and value of different lengths")
        a = SimpleNamespace(dtype=q.dtype)
        a.B, a.Hq, a.Sq, a.E = q.shape
        a.Hkv, a.Sk, a.Ev = k.shape[1], k.shape[2], v.shape[3]
        a.group = a.Hq // a.Hkv if a.Hkv else 1
        refuse(go.shape != (a.B, a.Hq, a.Sq, a.Ev), "grad_output of another shape")
        a.W = self.work(a.dtype)
        a.go, a.q, a.k, a.v = (array.astype(a.W) for array in (go, q, k, v))
        a.glse = None
        if r.grad_logsumexp is not None:
            a.glse = self.check_grad_logsumexp(np.asarray(r.grad_logsumexp), (a.B, a.Hq, a.Sq)).astype(a.W)
        a.out = None if r.output is None else np.asarray(r.output).astype(a.W)
        a.lse = None if r.logsumexp is None else np.asarray(r.logsumexp).astype(a.W)
        for name, most in (("key_lengths", a.Sk), ("query_lengths", a.Sq)):
            lengths = getattr(r, name)
            if lengths is not None:
                lengths = np.asarray(lengths)
                refuse(lengths.shape != (a.B,), f"{name} for another batch")
                refuse(bool(np.any(lengths < 0) or np.any(lengths > most)), f"{name} out of range")
        a.L = [a.Sk] * a.B if r.key_lengths is None else [int(n) for n in np.asarray(r.key_lengths)]
        a.N = [a.Sq] * a.B if r.query_lengths is None else [int(n) for n in np.asarray(r.query_lengths)]
        a.mask = a.float_mask = a.bool_mask = None
        if r.mask is not None:
            a.mask = np.asarray(r.mask)
            refuse(not 2 <= a.mask.ndim <= 4, "mask must have rank 2 to 4")
            refuse(a.mask.shape[-1] != a.Sk, "mask for another number of keys")
            full = (a.B, a.Hq, a.Sq, a.Sk)
            for have, need in zip(a.mask.shape[::-1], full[::-1]):
                refuse(have != need and have != 1, "mask does not broadcast")
            if a.mask.dtype == bool:
                a.bool_mask = np.broadcast_to(a.mask, full)
            else:
                refuse(a.mask.dtype.kind in "iu", "mask of whole numbers")
                a.float_mask = np.broadcast_to(a.mask.astype(a.W), full)
        a.sinks = a.slopes = None
        if r.sinks is not None:
            a.sinks = np.asarray(r.sinks).astype(a.W)
            refuse(a.sinks.shape != (a.Hq,), "sinks of another shape")
        if r.alibi_slopes is not None:
            a.slopes = np.asarray(r.alibi_slopes).astype(a.W)
            refuse(a.slopes.shape != (a.Hq,), "slopes of another shape")
        refuse(r.causal_alignment not in ("top_left", "bottom_right"), "unknown alignment")
        a.causal, a.bottom = bool(r.is_causal), r.causal_alignment == "bottom_right"
        refuse(a.E == 0, "no features")
        a.scale = a.W(1 / np.sqrt(a.E)) if r.scale is None else a.W(float(r.scale))
        refuse(r.softcap is not None and r.softcap < 0, "negative softcap")
        a.cap = a.W(float(r.softcap)) if r.softcap else None
        a.left, a.right = (None, None) if r.window is None else tuple(r.window)
        return a

    def offset(self, a, b):
        return a.L[b] - a.N[b] if a.bottom else 0

    def alibi_offset(self, a, b):
        return self.offset(a, b)

    def keys(self, a, b, h, i, p):
        j = np.arange(a.Sk)
        may = j < a.L[b]
        if a.causal:
            may &= j <= p
        if a.left is not None:
            may &= j >= p - a.left
        if a.right is not None:
            may &= j <= p + a.right
        if a.bool_mask is not None:
            may &= a.bool_mask[b, h, i]
        if a.float_mask is not None:
            may &= a.float_mask[b, h, i] != -np.inf
        return np.flatnonzero(may)

    def weights(self, a, b, h, i, logits):
        m = logits.max() if a.sinks is None else np.maximum(logits.max(), a.sinks[h])
        powers = np.exp(logits - m)
        total = powers.sum()
        share = a.W(0)
        if a.sinks is not None:
            share = np.exp(a.sinks[h] - m)
            total = total + share
        return powers / total, share / total

    def delta(self, a, b, h, i, w, gw):
        return (w * gw).sum()

    def cap_slope(self, a, s, biased):
        return (1 / np.cosh(s / a.cap)) ** 2

    def kept(self, a, b, h, i, idx):
        """Which of the keys the pass over the gradients visits."""
        return slice(None)

    def delta_room(self, a):
        return np.zeros((a.B, a.Hq, a.Sq), a.W)

    def reduce_mask(self, a, full):
        missing = full.ndim - a.mask.ndim
        full = full.sum(axis=tuple(range(missing)))
        for axis, extent in enumerate(a.mask.shape):
            if extent == 1:
                full = full.sum(axis=axis, keepdims=True)
        return full

    def scaled(self, a, array):
        return array * a.scale

    def shown_delta(self, a, delta):
        return delta

    def finish_value(self, a, gv, P):
        return gv

    def run(self, **args):
        with np.errstate(all="ignore"):
            return self._run(self.prepare(**args))

    def _run(self, a):
        gq, gk, gv = np.zeros_like(a.q, order="C"), np.zeros_like(a.k, order="C"), np.zeros_like(a.v, order="C")
        full = np.zeros((a.B, a.Hq, a.Sq, a.Sk), a.W)
        grad_scores, P = np.zeros_like(full), np.zeros_like(full)
        grad_sinks = np.zeros(a.Hq, a.W)
        deltas = self.delta_room(a)
        for b in range(a.B):
            for h in range(a.Hq):
                g = h // a.group
                for i in range(a.N[b]):
                    p = i + self.offset(a, b)
                    idx = self.keys(a, b, h, i, p)
                    glse = a.W(0) if a.glse is None else a.glse[b, h, i]
                    if not len(idx):
                        if a.sinks is not None:
                            grad_sinks[h] += glse
                        continue
                    k, v, q, go = a.k[b, g][idx], a.v[b, g][idx], a.q[b, h, i], a.go[b, h, i]
                    s = (k * q).sum(axis=-1) * a.scale
                    logits = s if a.cap is None else a.cap * np.tanh(s / a.cap)
                    if a.slopes is not None:
                        logits = logits - a.slopes[h] * np.abs(i + self.alibi_offset(a, b) - idx).astype(a.W)
                    biased = logits
                    if a.float_mask is not None:
                        logits = logits + a.float_mask[b, h, i][idx]
                    w, share = self.weights(a, b, h, i, logits)
                    gw = (v * go).sum(axis=-1)
                    delta = self.delta(a, b, h, i, w, gw)
                    deltas[b, h, i] = delta
                    gl = w * (gw - delta + glse)
                    grad_sinks[h] += share * (glse - delta)
                    gs = gl if a.cap is None else gl * self.cap_slope(a, s, biased)
                    kept = self.kept(a, b, h, i, idx)
                    idx, k, w, gl, gs = idx[kept], k[kept], w[kept], gl[kept], gs[kept]
                    P[b, h, i, idx], full[b, h, i, idx], grad_scores[b, h, i, idx] = w, gl, gs
                    gv[b, g, idx] += w[:, None] * go
                    gq[b, h, i] = (gs[:, None] * k).sum(axis=0)
                    gk[b, g, idx] += gs[:, None] * q
        result = {
            "grad_query": cast(self.scaled(a, gq), a.dtype),
            "grad_key": cast(self.scaled(a, gk), a.dtype),
            "grad_value": cast(self.finish_value(a, gv, P), a.dtype),
        }
        if a.float_mask is not None:
            result["grad_mask"] = cast(self.reduce_mask(a, full), a.dtype)
        if a.sinks is not None:
            result["grad_sinks"] = cast(grad_sinks, a.dtype)
        result["delta"] = self.shown_delta(a, deltas).astype(a.dtype, copy=False)
        result["grad_scores"] = cast(grad_scores, a.dtype)
        return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Backward().run(**dict(locals()))

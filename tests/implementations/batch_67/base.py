"""Right implementations after the pages, and parts of them."""
import numpy as np
import ml_dtypes

INF = np.inf
HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
dtypes = ("float64", "float32", "bfloat16", "float16")


def carrier(dtype):
    """float64 for float64, float32 for the others."""
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def refuse(condition, why):
    if condition:
        raise ValueError(why)


# ---------------------------------------------------------------- softmax

def softmax_along(x, axis):
    """x is wide already; axis an integer or None."""
    with np.errstate(all="ignore"):
        top = np.max(x, axis=axis, keepdims=True, initial=-INF)
        e = np.exp(x - top)
        return np.asarray(e / np.sum(e, axis=axis, keepdims=True))


def check_axis(x, axis):
    if axis is not None and x.ndim:
        refuse(not -x.ndim <= axis < x.ndim, "axis")


def softmax(x, axis=-1):
    x = np.asarray(x)
    check_axis(x, axis)
    return {"output": softmax_along(x.astype(np.float64), axis).astype(x.dtype)}


# ---------------------------------------------------------------- merge_states

def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    refuse(output_a.ndim != 4 or output_b.ndim != 4, "outputs of rank 4")
    refuse(logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3, "logarithms of rank 3")
    refuse(output_a.shape != output_b.shape, "outputs of one shape")
    refuse(logsumexp_a.shape != output_a.shape[:3], "logsumexp_a")
    refuse(logsumexp_b.shape != output_a.shape[:3], "logsumexp_b")


def larger(la, lb):
    """The larger logarithm, 0 where there is none."""
    top = np.maximum(la, lb)
    return np.where(top == -INF, 0, top)


def average(oa, ob, wa, wb, empty_a, empty_b):
    """By shares, which cannot overflow; between the two where both are finite."""
    total = wa + wb
    total = np.where(total == 0, 1, total)
    sa, sb = (wa / total)[..., None], (wb / total)[..., None]
    ea, eb = empty_a[..., None], empty_b[..., None]
    out = np.where(ea, 0, sa * oa) + np.where(eb, 0, sb * ob)
    both = ~ea & ~eb & np.isfinite(oa) & np.isfinite(ob) & np.isfinite(sa) & np.isfinite(sb)
    return np.where(both, np.clip(out, np.minimum(oa, ob), np.maximum(oa, ob)), out)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    oa, la, ob, lb = (a.astype(np.float64) for a in (output_a, logsumexp_a, output_b, logsumexp_b))
    with np.errstate(all="ignore"):
        empty_a, empty_b = la == -INF, lb == -INF
        top = larger(la, lb)
        wa = np.where(empty_a, 0, np.exp(la - top))
        wb = np.where(empty_b, 0, np.exp(lb - top))
        out = average(oa, ob, wa, wb, empty_a, empty_b)
        lse = np.where(empty_a, lb, np.where(empty_b, la, top + np.log1p(np.exp(-np.abs(la - lb)))))
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(output_a.dtype)}


# ---------------------------------------------------------------- backward

def masked_sum(coefficients, allowed, vectors):
    """(…, M, K), (…, M, K), (…, K, F) -> (…, M, F), what is not allowed adding exactly nothing."""
    coefficients = np.where(allowed, coefficients, 0)
    if np.isfinite(vectors).all():
        return coefficients @ vectors
    out = np.zeros(coefficients.shape[:-1] + vectors.shape[-1:], vectors.dtype)
    for k in range(vectors.shape[-2]):
        out += np.where(allowed[..., k, None], coefficients[..., k, None] * vectors[..., k, None, :], 0)
    return out


class Backward:
    """One call; every step is a method, so that another computation can replace it."""

    def __init__(self, given):
        for name, value in given.items():
            setattr(self, name, value)
        for name in ("grad_output", "query", "key", "value"):
            setattr(self, name, np.asarray(getattr(self, name)))
        for name in ("output", "logsumexp", "grad_logsumexp", "mask", "key_lengths", "query_lengths", "sinks",
                     "alibi_slopes"):
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name)))

    def carrier(self):
        return np.float64

    # 1
    def check(self):
        q, k, v = self.query, self.key, self.value
        refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
        refuse(q.shape[3] != k.shape[3], "width")
        refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
        refuse(k.shape[1] != v.shape[1], "heads of key and value")
        hq, hkv = q.shape[1], k.shape[1]
        refuse(hq % hkv if hkv else hq, "heads")
        refuse(k.shape[2] != v.shape[2], "length")
        self.B, self.Hq, self.Sq, self.E = q.shape
        self.Hkv, self.Sk, self.Ev = k.shape[1], k.shape[2], v.shape[3]
        self.G = hq // hkv if hkv else 1
        refuse(self.E == 0, "no features")
        for lengths, most in ((self.key_lengths, self.Sk), (self.query_lengths, self.Sq)):
            if lengths is not None:
                refuse(lengths.shape != (self.B,), "lengths")
                refuse(bool(((lengths < 0) | (lengths > most)).any()), "length out of range")
        if self.mask is not None:
            full = (self.B, self.Hq, self.Sq, self.Sk)
            m = self.mask.shape
            refuse(not 2 <= len(m) <= 4, "mask rank")
            refuse(m[-1] != self.Sk, "mask keys")
            refuse(any(n not in (1, w) for n, w in zip(m[::-1], full[::-1])), "mask shape")
            refuse(self.mask.dtype.kind in "iu", "mask of integers")
        refuse(self.grad_output.shape != (self.B, self.Hq, self.Sq, self.Ev), "grad_output")
        self.check_grad_logsumexp()
        for per_head in (self.sinks, self.alibi_slopes):
            refuse(per_head is not None and per_head.shape != (self.Hq,), "one number for each query head")
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
        refuse(self.softcap is not None and self.softcap < 0, "softcap")

    def check_grad_logsumexp(self):
        refuse(self.grad_logsumexp is not None and self.grad_logsumexp.shape != (self.B, self.Hq, self.Sq),
               "grad_logsumexp")

    # 2
    def widen(self):
        w = self.W = self.carrier()
        self.q, self.k, self.v, self.go = (a.astype(w) for a in (self.query, self.key, self.value, self.grad_output))
        self.glse = None if self.grad_logsumexp is None else self.grad_logsumexp.astype(w)
        self.factor = w(1 / np.sqrt(self.E) if self.scale is None else self.scale)
        self.float_mask = self.mask is not None and self.mask.dtype != bool
        self.L = np.full(self.B, self.Sk) if self.key_lengths is None else self.key_lengths.astype(int)
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths.astype(int)

    # 3
    def offsets(self):
        return self.L - self.N if self.causal_alignment == "bottom_right" else np.zeros(self.B, int)

    def positions(self):
        return self.offsets()[:, None, None, None] + np.arange(self.Sq)[:, None]

    def excluding(self):
        """Keys that the mask excludes."""
        return ~self.mask if self.mask.dtype == bool else self.mask.astype(self.W) == -INF

    def causal(self):
        return self.is_causal

    def allow(self):
        p, j = self.positions(), np.arange(self.Sk)
        ok = (j < self.L[:, None, None, None]) & np.ones_like(p, bool)
        if self.causal():
            ok = ok & (j <= p)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                ok = ok & (j >= p - left)
            if right is not None:
                ok = ok & (j <= p + right)
        self.counts = (np.arange(self.Sq) < self.N[:, None])[:, None, :]
        ok = ok & self.counts[..., None]
        if self.mask is not None:
            ok = ok & ~self.excluding()
        self.allowed = np.broadcast_to(ok, (self.B, self.Hq, self.Sq, self.Sk))

    def bias(self):
        distance = np.abs(self.positions() - np.arange(self.Sk))
        return -self.alibi_slopes.astype(self.W)[:, None, None] * distance.astype(self.W)

    def score(self):
        self.kk, self.vv = np.repeat(self.k, self.G, axis=1), np.repeat(self.v, self.G, axis=1)
        self.dots = self.q @ self.kk.swapaxes(-1, -2)
        self.scores = self.dots * self.factor
        logits = self.scores
        if self.softcap:
            c = self.W(self.softcap)
            logits = c * np.tanh(logits / c)
        if self.alibi_slopes is not None:
            logits = logits + self.bias()
        if self.float_mask:
            logits = logits + self.mask.astype(self.W)
        self.logits = logits

    def row_top(self):
        return np.max(np.where(self.allowed, self.logits, -INF), axis=-1, initial=-INF)

    def weigh(self):
        top = self.row_top()
        sinks = None
        if self.sinks is not None:
            sinks = np.broadcast_to(self.sinks.astype(self.W)[:, None], top.shape)
            top = np.maximum(top, sinks)
        top = np.where(top == -INF, 0, top)
        e = np.where(self.allowed, np.exp(self.logits - top[..., None]), 0)
        total = e.sum(axis=-1)
        if sinks is not None:
            join = np.exp(sinks - top)
            total = total + join
        total = np.where(total == 0, 1, total)
        self.weights = e / total[..., None]
        self.share = None if sinks is None else join / total

    # 6, 7
    def find_delta(self):
        self.gw = np.where(self.allowed, self.go @ self.vv.swapaxes(-1, -2), 0)
        self.delta = np.where(self.allowed, self.weights * self.gw, 0).sum(axis=-1)

    # 8
    def differentiate(self):
        inner = self.gw - self.delta[..., None]
        if self.glse is not None:
            inner = inner + self.glse[..., None]
        self.grad_logits = np.where(self.allowed, self.weights * inner, 0)

    # 9
    def reduce_mask(self, gradient):
        shape = self.mask.shape
        gradient = gradient.sum(axis=tuple(range(4 - len(shape))))
        ones = tuple(a for a, n in enumerate(shape) if n == 1)
        return gradient.sum(axis=ones, keepdims=True) if ones else gradient

    # 10
    def sink_terms(self):
        inner = -self.delta if self.glse is None else self.glse - self.delta
        return np.where(self.counts, self.share * inner, 0)

    # 11
    def cap_factor(self):
        t = np.exp(-2 * np.abs(self.scores / self.W(self.softcap)))
        return 4 * t / (1 + t) ** 2

    def uncap(self):
        self.grad_scores = self.grad_logits
        if self.softcap:
            self.grad_scores = np.where(self.allowed, self.grad_logits * self.cap_factor(), 0)

    # 12 to 14
    def group(self, x):
        return x.reshape((self.B, self.Hkv, self.G) + x.shape[2:]).sum(axis=2)

    def transposed(self, coefficients, vectors):
        """For each key, over the queries."""
        return masked_sum(coefficients.swapaxes(-1, -2), self.allowed.swapaxes(-1, -2), vectors)

    def finish(self):
        self.grad_query = masked_sum(self.grad_scores, self.allowed, self.kk) * self.factor
        self.grad_key = self.group(self.transposed(self.grad_scores, self.q)) * self.factor
        self.grad_value = self.group(self.transposed(self.weights, self.go))

    def told_delta(self):
        return self.delta

    def results(self):
        d = self.query.dtype
        out = {"grad_query": self.grad_query.astype(d), "grad_key": self.grad_key.astype(d),
               "grad_value": self.grad_value.astype(d)}
        if self.float_mask:
            out["grad_mask"] = self.reduce_mask(self.grad_logits).astype(d)
        if self.sinks is not None:
            out["grad_sinks"] = self.sink_terms().sum(axis=(0, 2)).astype(d)
        out["delta"] = self.told_delta().astype(d)
        out["grad_scores"] = self.grad_scores.astype(d)
        return out

    def run(self):
        self.check()
        with np.errstate(all="ignore"):
            self.widen()
            self.allow()
            self.score()
            self.weigh()
            self.find_delta()
            self.differentiate()
            self.uncap()
            self.finish()
            return self.results()


def backward_by(kind):
    def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None,
    ):
        return kind(dict(locals_of(
            grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths, sinks,
            alibi_slopes, is_causal, causal_alignment, scale, softcap, window))).run()

    return scaled_dot_product_attention_backward


NAMES = ("grad_output", "query", "key", "value", "output", "logsumexp", "grad_logsumexp", "mask", "key_lengths",
         "query_lengths", "sinks", "alibi_slopes", "is_causal", "causal_alignment", "scale", "softcap", "window")


def locals_of(*values):
    return zip(NAMES, values, strict=True)


scaled_dot_product_attention_backward = backward_by(Backward)

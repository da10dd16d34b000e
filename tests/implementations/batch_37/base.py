"""Right implementations after the pages, in steps that the other files replace one at a time."""
import math

import ml_dtypes
import numpy as np

bfloat16 = np.dtype(ml_dtypes.bfloat16)
HALF = (bfloat16, np.dtype(np.float16))
ALL = ("float64", "float32", "bfloat16", "float16")


def work(dtype):
    """The dtype that carries: float64 for float64, float32 for the others."""
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def quiet():
    return np.errstate(all="ignore")


def is_float(array):
    return array.dtype in HALF or array.dtype.kind == "f"


# ------------------------------------------------------------------ softmax

def soft(x, axis):
    """Softmax of a wide array along an axis, or over all of it."""
    with quiet():
        top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        e = np.exp(x - top)
        return e / np.sum(e, axis=axis, keepdims=True)


def softmax(x, axis=-1):
    x = np.asarray(x)
    return {"output": soft(x.astype(np.float64), axis).astype(x.dtype)}


# ------------------------------------------------------------------ merge

def merge_check(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    if output_a.ndim != 4 or output_b.ndim != 4:
        raise ValueError("outputs must have rank 4")
    if logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3:
        raise ValueError("logarithms must have rank 3")
    if output_a.shape != output_b.shape:
        raise ValueError("outputs of different shapes")
    if logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3]:
        raise ValueError("logarithms of another shape than the rows")
    return output_a, logsumexp_a, output_b, logsumexp_b


def merge_wide(output_a, logsumexp_a, output_b, logsumexp_b):
    """Merged output and logarithm of wide arrays."""
    with quiet():
        top = np.maximum(logsumexp_a, logsumexp_b)
        safe = np.where(np.isneginf(top), 0, top)
        none_a, none_b = np.isneginf(logsumexp_a), np.isneginf(logsumexp_b)
        weight_a = np.where(none_a, 0, np.exp(logsumexp_a - safe))
        weight_b = np.where(none_b, 0, np.exp(logsumexp_b - safe))
        both = none_a & none_b
        total = np.where(both, 1, weight_a + weight_b)
        part_a = np.where(none_a[..., None], 0, (weight_a / total)[..., None] * output_a)
        part_b = np.where(none_b[..., None], 0, (weight_b / total)[..., None] * output_b)
        output = part_a + part_b
        logsumexp = np.where(both, -np.inf, top + np.log(total))
    return output, logsumexp


def merge_round(output, logsumexp, dtype):
    with quiet():
        return {"output": np.asarray(output).astype(dtype), "logsumexp": np.asarray(logsumexp).astype(dtype)}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    given = merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    return merge_round(*merge_wide(*(x.astype(np.float64) for x in given)), given[0].dtype)


# ------------------------------------------------------------------ attention, backward

def product(coefficients, allowed, rows):
    """coefficients (B,H,m,n) times rows (B,H,n,e), in which a row that is not allowed is never touched."""
    with quiet():
        coefficients = np.where(allowed, coefficients, 0)
        fine = np.isfinite(rows)
        if fine.all():
            return coefficients @ rows
        result = coefficients @ np.where(fine, rows, 0)
        bad = np.where(fine, 0, rows)
        for b, h, j in zip(*np.nonzero(~fine.all(axis=-1))):
            result[b, h] += np.where(allowed[b, h, :, j, None], coefficients[b, h, :, j, None] * bad[b, h, j], 0)
        return result


class Backward:
    """One call. Each step is a method."""

    def __init__(self, given):
        self.__dict__.update({name: value for name, value in given.items() if name != "self"})

    def run(self):
        with quiet():
            self.check()
            self.widen()
            self.place()
            self.permit()
            self.find_scores()
            self.find_logits()
            self.find_weights()
            self.find_grad_value()
            self.find_grad_weights()
            self.find_delta()
            self.find_grad_logits()
            self.find_grad_mask()
            self.find_grad_sinks()
            self.find_grad_scores()
            self.find_grad_query()
            self.find_grad_key()
            self.share()
            return self.round()

    # -- what is refused

    def check(self):
        for name in ("grad_output", "query", "key", "value"):
            setattr(self, name, np.asarray(getattr(self, name)))
        q, k, v = self.query, self.key, self.value
        if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
            raise ValueError("query, key and value must have rank 4")
        self.B, self.Hq, self.Sq, self.E = q.shape
        self.Hkv, self.Sk, self.Ev = k.shape[1], k.shape[2], v.shape[3]
        if k.shape[3] != self.E:
            raise ValueError("query and key of different widths")
        if self.E == 0:
            raise ValueError("queries without features")
        if k.shape[0] != self.B or v.shape[0] != self.B:
            raise ValueError("different batch sizes")
        if v.shape[1] != self.Hkv or (self.Hq % self.Hkv if self.Hkv else self.Hq):
            raise ValueError("heads do not divide")
        if v.shape[2] != self.Sk:
            raise ValueError("key and value of different lengths")
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        if self.grad_output.shape != (self.B, self.Hq, self.Sq, self.Ev):
            raise ValueError("grad_output of another shape")
        if self.grad_logsumexp is not None:
            self.grad_logsumexp = np.asarray(self.grad_logsumexp)
            if self.grad_logsumexp.shape != (self.B, self.Hq, self.Sq):
                raise ValueError("grad_logsumexp of another shape")
        self.check_lengths()
        self.check_mask()
        for name in ("sinks", "alibi_slopes"):
            given = getattr(self, name)
            if given is not None:
                given = np.asarray(given)
                setattr(self, name, given)
                if given.shape != (self.Hq,):
                    raise ValueError(f"{name} must have one number for each query head")
        if self.causal_alignment not in ("top_left", "bottom_right"):
            raise ValueError("no such alignment")
        if self.softcap is not None and not self.softcap >= 0:
            raise ValueError("negative softcap")
        if self.window is not None and len(self.window) != 2:
            raise ValueError("a window has two sides")

    def check_lengths(self):
        for name, most in (("key_lengths", self.Sk), ("query_lengths", self.Sq)):
            given = getattr(self, name)
            if given is None:
                continue
            given = np.asarray(given)
            if given.shape != (self.B,):
                raise ValueError(f"{name} for another batch")
            if (given < 0).any() or (given > most).any():
                raise ValueError(f"{name} out of range")
            setattr(self, name, given.astype(np.int64))

    def check_mask(self):
        if self.mask is None:
            return
        self.mask = np.asarray(self.mask)
        if self.mask.dtype != bool and not is_float(self.mask):
            raise ValueError("a mask holds truth values or floats")
        if not 2 <= self.mask.ndim <= 4 or self.mask.shape[-1] != self.Sk:
            raise ValueError("mask of another shape")
        np.broadcast_to(self.mask, self.scores_shape())

    def scores_shape(self):
        return (self.B, self.Hq, self.Sq, self.Sk)

    # -- the forward pass

    def widen(self):
        self.dtype = self.query.dtype
        self.work = np.dtype(np.float64)
        self.q = self.query.astype(self.work)
        self.k = np.repeat(self.key.astype(self.work), self.group, axis=1)
        self.v = np.repeat(self.value.astype(self.work), self.group, axis=1)
        self.do = self.grad_output.astype(self.work)
        self.dlse = None if self.grad_logsumexp is None else self.grad_logsumexp.astype(self.work)
        self.factor = 1 / math.sqrt(self.E) if self.scale is None else float(self.scale)
        self.cap = None if self.softcap is None or self.softcap == 0 else float(self.softcap)
        self.float_mask = self.mask is not None and self.mask.dtype != bool
        self.sink = None if self.sinks is None else self.sinks.astype(self.work)
        self.full_mask = None
        if self.mask is not None:
            wide = self.mask.astype(self.work) if self.float_mask else self.mask
            self.full_mask = np.broadcast_to(wide, self.scores_shape())

    def place(self):
        """Positions (B, Sq)."""
        self.L = np.full(self.B, self.Sk) if self.key_lengths is None else self.key_lengths
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths
        start = self.L - self.N if self.causal_alignment == "bottom_right" else np.zeros(self.B, np.int64)
        self.p = start[:, None] + np.arange(self.Sq)

    def permit(self):
        """allowed (B, Hq, Sq, Sk), counts (B, 1, Sq)."""
        j = np.arange(self.Sk)
        p = self.p[:, :, None]
        allowed = np.broadcast_to(j < self.L[:, None, None], (self.B, self.Sq, self.Sk)).copy()
        if self.is_causal:
            allowed &= j <= p
        allowed &= self.inside_window(p, j)
        counts = np.arange(self.Sq) < self.N[:, None]
        allowed &= counts[:, :, None]
        self.counts = counts[:, None, :]
        self.allowed = np.broadcast_to(allowed[:, None], self.scores_shape()).copy()
        if self.full_mask is not None:
            self.allowed &= self.unmasked()

    def inside_window(self, p, j):
        left, right = (None, None) if self.window is None else self.window
        inside = np.ones(np.broadcast_shapes(p.shape, j.shape), bool)
        if left is not None:
            inside &= j >= p - left
        if right is not None:
            inside &= j <= p + right
        return inside

    def unmasked(self):
        return ~np.isneginf(self.full_mask) if self.float_mask else self.full_mask

    def find_scores(self):
        self.scores = self.q @ self.k.swapaxes(-1, -2) * self.work.type(self.factor)

    def distance(self):
        return np.abs(self.p[:, None, :, None] - np.arange(self.Sk))

    def find_logits(self):
        logits = self.scores
        if self.cap is not None:
            self.tanh = np.tanh(self.scores / self.work.type(self.cap))
            logits = self.tanh * self.work.type(self.cap)
        if self.alibi_slopes is not None:
            logits = logits - self.alibi_slopes.astype(self.work)[:, None, None] * self.distance().astype(self.work)
        if self.float_mask:
            logits = logits + self.full_mask
        self.logits = np.where(self.allowed, logits, self.work.type(-np.inf))

    def find_weights(self):
        top = np.max(self.logits, axis=-1, initial=-np.inf, keepdims=True)
        sink = None if self.sink is None else self.sink[:, None, None]
        if sink is not None:
            top = np.maximum(top, sink)
        safe = np.where(np.isneginf(top), self.work.type(0), top)
        e = np.where(self.allowed, np.exp(self.logits - safe), self.work.type(0))
        total = e.sum(axis=-1, keepdims=True)
        if sink is not None:
            total = total + np.exp(sink - safe)
        empty = total == 0
        filled = np.where(empty, self.work.type(1), total)
        self.weights = e / filled
        self.lse = np.where(empty, self.work.type(-np.inf), safe + np.log(filled))[..., 0]
        self.sink_share = None if sink is None else (np.exp(sink - safe) / filled)[..., 0]

    # -- the way back

    def find_grad_value(self):
        self.dv = product(self.weights.swapaxes(-1, -2), self.allowed.swapaxes(-1, -2), self.do)

    def find_grad_weights(self):
        self.dp = np.where(self.allowed, self.do @ self.v.swapaxes(-1, -2), self.work.type(0))

    def find_delta(self):
        self.delta = np.where(self.allowed, self.weights * self.dp, self.work.type(0)).sum(axis=-1)

    def find_grad_logits(self):
        inner = self.dp - self.delta[..., None]
        if self.dlse is not None:
            inner = inner + self.dlse[..., None]
        self.dlogits = np.where(self.allowed, self.weights * inner, self.work.type(0))

    def find_grad_mask(self):
        self.dmask = self.unbroadcast(self.dlogits, self.mask.shape) if self.float_mask else None

    def unbroadcast(self, gradient, shape):
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
        return gradient.sum(axis=tuple(a for a, n in enumerate(shape) if n == 1), keepdims=True)

    def find_grad_sinks(self):
        self.dsinks = None
        if self.sink is not None:
            self.dsinks = self.sink_terms().sum(axis=(0, 2))

    def sink_terms(self):
        gain = -self.delta if self.dlse is None else self.dlse - self.delta
        return np.where(self.counts, self.sink_share * gain, self.work.type(0))

    def find_grad_scores(self):
        self.dscores = self.dlogits
        if self.cap is not None:
            slope = (1 - self.tanh) * (1 + self.tanh)
            self.dscores = np.where(self.allowed, self.dlogits * slope, self.work.type(0))

    def find_grad_query(self):
        self.dq = product(self.dscores, self.allowed, self.k) * self.work.type(self.factor)

    def find_grad_key(self):
        self.dk = product(self.dscores.swapaxes(-1, -2), self.allowed.swapaxes(-1, -2), self.q)
        self.dk = self.dk * self.work.type(self.factor)

    def share(self):
        self.dk, self.dv = self.over_group(self.dk), self.over_group(self.dv)

    def over_group(self, gradient):
        b, _, s, e = gradient.shape
        return gradient.reshape(b, self.Hkv, self.group, s, e).sum(axis=2)

    def round(self):
        found = {"grad_query": self.dq, "grad_key": self.dk, "grad_value": self.dv, "grad_mask": self.dmask,
                 "grad_sinks": self.dsinks, "delta": self.delta, "grad_scores": self.dscores}
        return {name: np.asarray(x).astype(self.dtype) for name, x in found.items() if x is not None}


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Backward(locals()).run()

"""Right implementations after the pages: softmax, merge_states, scaled_dot_product_attention_backward.

The gradients are a class with a method for each step, so that other files replace one step.
"""

import math

import numpy as np
import ml_dtypes  # noqa: F401  registers bfloat16 with NumPy

DTYPES = ("float64", "float32", "bfloat16", "float16")


def wide(array):
    """A float64 array of its own."""
    return np.array(array, dtype=np.float64)


def is_half(dtype):
    return np.dtype(dtype).itemsize == 2


def wider(dtype):
    return np.dtype(np.float32) if is_half(dtype) else np.dtype(dtype)


def narrow(array, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


# softmax -------------------------------------------------------------------------------------------------------------


def softmax(x, axis=-1):
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        numbers = wide(x)
        shifted = np.exp(numbers - np.max(numbers, axis=axis, keepdims=True, initial=-np.inf))
        return narrow(shifted / np.sum(shifted, axis=axis, keepdims=True), x.dtype)


# merge_states --------------------------------------------------------------------------------------------------------


def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    output_a, logsumexp_a, output_b, logsumexp_b = arrays
    if output_a.ndim != 4 or output_b.ndim != 4 or logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3:
        raise ValueError("outputs have rank 4 and logarithms rank 3")
    if output_a.shape != output_b.shape:
        raise ValueError("outputs of different shapes")
    if logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3]:
        raise ValueError("logarithms for other rows than those of the outputs")
    return arrays


def shares(a, b):
    """The shares of both parts (0 for one without keys), and the merged logarithm, in float64."""
    empty_a, empty_b = np.isneginf(a), np.isneginf(b)
    top = np.maximum(a, b)
    top = np.where(empty_a & empty_b, 0.0, top)
    weight_a = np.where(empty_a, 0.0, np.exp(a - top))
    weight_b = np.where(empty_b, 0.0, np.exp(b - top))
    total = weight_a + weight_b
    both = empty_a & empty_b
    divisor = np.where(both, 1.0, total)
    merged = np.where(both, -np.inf, top + np.log(divisor))
    return weight_a / divisor, weight_b / divisor, merged


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    with np.errstate(all="ignore"):
        a, b = wide(logsumexp_a), wide(logsumexp_b)
        share_a, share_b, merged = shares(a, b)
        first = np.where(np.isneginf(a)[..., None], 0.0, wide(output_a))
        second = np.where(np.isneginf(b)[..., None], 0.0, wide(output_b))
        output = share_a[..., None] * first + share_b[..., None] * second
        return {"output": narrow(output, dtype), "logsumexp": narrow(merged, wider(dtype))}


# scaled_dot_product_attention_backward -------------------------------------------------------------------------------


def gated(weights, allowed, rows):
    """Σ_k weights[..., q, k] · rows[..., k, :] over what is allowed; what is not has no effect, be it NaN."""
    weights = np.where(allowed, weights, 0.0)
    if np.isfinite(rows).all():
        return weights @ rows
    products = weights[..., None] * rows[..., None, :, :]
    return np.where(allowed[..., None], products, 0.0).sum(axis=-2)


def lengths_of(lengths, batch, most):
    if lengths is None:
        return np.full(batch, most, dtype=np.int64)
    lengths = np.asarray(lengths)
    if lengths.shape != (batch,):
        raise ValueError("lengths for another number of batch entries")
    lengths = lengths.astype(np.int64)
    if (lengths < 0).any() or (lengths > most).any():
        raise ValueError("a length below 0 or above the number of tokens")
    return lengths


class Backward:
    def __init__(self, arguments):
        self.given = dict(arguments)
        for name, value in arguments.items():
            setattr(self, name, value)

    # steps

    def check_gradient(self):
        self.grad_output = np.asarray(self.grad_output)
        if self.grad_output.shape != (self.B, self.Hq, self.Sq, self.Ev):
            raise ValueError("grad_output of another shape")

    def check(self):
        query, key, value = (np.asarray(array) for array in (self.query, self.key, self.value))
        if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
            raise ValueError("query, key and value have rank 4")
        self.B, self.Hq, self.Sq, self.E = query.shape
        _, self.Hkv, self.Sk, _ = key.shape
        self.Ev = value.shape[3]
        if key.shape[0] != self.B or value.shape[0] != self.B:
            raise ValueError("different batch sizes")
        if key.shape[3] != self.E:
            raise ValueError("query and key of different widths")
        if value.shape[1] != self.Hkv:
            raise ValueError("key and value of different numbers of heads")
        if (self.Hq % self.Hkv if self.Hkv else self.Hq):
            raise ValueError("query heads are no multiple of key heads")
        if value.shape[2] != self.Sk:
            raise ValueError("key and value of different numbers of tokens")
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        self.check_gradient()
        if self.grad_logsumexp is not None and np.shape(self.grad_logsumexp) != (self.B, self.Hq, self.Sq):
            raise ValueError("grad_logsumexp of another shape")
        self.L = lengths_of(self.key_lengths, self.B, self.Sk)
        self.N = lengths_of(self.query_lengths, self.B, self.Sq)
        if self.mask is not None:
            self.mask = np.asarray(self.mask)
            full = (self.B, self.Hq, self.Sq, self.Sk)
            if not 2 <= self.mask.ndim <= 4 or self.mask.shape[-1] != self.Sk:
                raise ValueError("a mask of another shape")
            for have, owed in zip(self.mask.shape[::-1], full[::-1]):
                if have not in (1, owed):
                    raise ValueError("a mask that does not broadcast")
        if self.causal_alignment not in ("top_left", "bottom_right"):
            raise ValueError("an unknown alignment")
        self.dtype = query.dtype
        if self.scale is None:
            self.scale = 1.0 / math.sqrt(self.E)
        self.scale = float(self.scale)

    def widen(self):
        self.counts = np.arange(self.Sq)[None, :] < self.N[:, None]  # (B, Sq)
        counts = self.counts[:, None, :, None]
        self.q = np.where(counts, wide(self.query), 0.0)
        self.go = np.where(counts, wide(self.grad_output), 0.0)
        self.k = np.repeat(wide(self.key), self.group, axis=1)
        self.v = np.repeat(wide(self.value), self.group, axis=1)
        if self.grad_logsumexp is None:
            self.gl = np.zeros((self.B, self.Hq, self.Sq))
        else:
            self.gl = np.where(counts[..., 0], wide(self.grad_logsumexp), 0.0)

    def shift(self):
        """The position of the first query of each batch entry."""
        if self.causal_alignment == "bottom_right":
            return self.L - self.N
        return np.zeros(self.B, dtype=np.int64)

    def place(self):
        self.p = np.arange(self.Sq)[None, :] + self.shift()[:, None]  # (B, Sq)
        self.j = np.arange(self.Sk)

    def sides(self):
        return (None, None) if self.window is None else tuple(self.window)

    def placed_mask(self):
        """The mask with four axes, to be broadcast."""
        return self.mask.reshape((1,) * (4 - self.mask.ndim) + self.mask.shape)

    def attendable(self):
        p, j = self.p[:, None, :, None], self.j[None, None, None, :]
        allowed = (j < self.L[:, None, None, None]) & self.counts[:, None, :, None]
        if self.is_causal:
            allowed = allowed & (j <= p)
        left, right = self.sides()
        if left is not None:
            allowed = allowed & (j >= p - left)
        if right is not None:
            allowed = allowed & (j <= p + right)
        if self.mask is not None:
            mask = self.placed_mask()
            allowed = allowed & (mask if mask.dtype == bool else ~np.isneginf(wide(mask)))
        self.allowed = np.broadcast_to(allowed, (self.B, self.Hq, self.Sq, self.Sk))

    def distances(self):
        return np.abs(self.p[:, None, :, None] - self.j[None, None, None, :])

    def score(self):
        self.scores = (self.q @ self.k.swapaxes(-1, -2)) * self.scale
        logits = self.scores
        self.slope_of_cap = np.ones_like(self.scores)
        if self.softcap:
            logits = self.softcap * np.tanh(self.scores / self.softcap)
            self.slope_of_cap = 1.0 / np.cosh(self.scores / self.softcap) ** 2
        if self.alibi_slopes is not None:
            logits = logits - wide(self.alibi_slopes)[None, :, None, None] * self.distances()
        if self.mask is not None and self.mask.dtype != bool:
            logits = logits + wide(self.placed_mask())
        self.logits = np.where(self.allowed, logits, -np.inf)

    def weigh(self):
        top = self.logits.max(axis=-1, initial=-np.inf)
        sink = None
        if self.sinks is not None:
            sink = np.broadcast_to(wide(self.sinks)[None, :, None], top.shape)
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0.0, top)
        powers = np.where(self.allowed, np.exp(self.logits - top[..., None]), 0.0)
        total = powers.sum(axis=-1)
        if sink is not None:
            of_sink = np.exp(sink - top)
            total = total + of_sink
        safe = np.where(total == 0.0, 1.0, total)
        self.weights = powers / safe[..., None]
        self.share_of_sink = None if sink is None else of_sink / safe

    def over_group(self, gradient):
        return gradient.reshape(self.B, self.Hkv, self.group, *gradient.shape[2:]).sum(axis=2)

    def gradient_of_logits(self):
        grad_weights = np.where(self.allowed, self.go @ self.v.swapaxes(-1, -2), 0.0)
        self.delta = (self.weights * grad_weights).sum(axis=-1)
        inner = grad_weights - self.delta[..., None] + self.gl[..., None]
        self.grad_logits = np.where(self.allowed, self.weights * inner, 0.0)
        self.grad_scores = np.where(self.allowed, self.grad_logits * self.slope_of_cap, 0.0)

    def gradient_of_mask(self):
        gradient = self.grad_logits
        shape = self.placed_mask().shape
        axes = tuple(axis for axis in range(4) if shape[axis] == 1)
        return gradient.sum(axis=axes, keepdims=True).reshape(self.mask.shape)

    def gradient_of_sinks(self):
        terms = np.where(self.counts[:, None, :], self.share_of_sink * (self.gl - self.delta), 0.0)
        return terms.sum(axis=(0, 2))

    def gradient_of_query(self):
        return self.scale * gated(self.grad_scores, self.allowed, self.k)

    def gradient_of_key(self):
        turned = self.allowed.swapaxes(-1, -2)
        return self.scale * self.over_group(gated(self.grad_scores.swapaxes(-1, -2), turned, self.q))

    def gradient_of_value(self):
        turned = self.allowed.swapaxes(-1, -2)
        return self.over_group(gated(self.weights.swapaxes(-1, -2), turned, self.go))

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.widen()
            self.place()
            self.attendable()
            self.score()
            self.weigh()
            self.gradient_of_logits()
            return self.collect()

    def collect(self):
        dtype, other = self.dtype, wider(self.dtype)
        results = {
            "grad_query": narrow(self.gradient_of_query(), dtype),
            "grad_key": narrow(self.gradient_of_key(), dtype),
            "grad_value": narrow(self.gradient_of_value(), dtype),
        }
        if self.mask is not None and self.mask.dtype != bool:
            results["grad_mask"] = narrow(self.gradient_of_mask(), other)
        if self.sinks is not None:
            results["grad_sinks"] = narrow(self.gradient_of_sinks(), other)
        results["delta"] = narrow(self.delta, other)
        results["grad_scores"] = narrow(self.grad_scores, other)
        return results


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Backward(locals()).run()

"""Right implementations after the pages, in steps that other files may replace one at a time."""

import math

import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy)
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")


def carried(dtype):
    """The dtype that is computed in."""
    return np.dtype("float64") if np.dtype(dtype) == np.float64 else np.dtype("float32")


def widen(array):
    array = np.asarray(array)
    return array.astype(carried(array.dtype))


def refuse(condition, why):
    if condition:
        raise ValueError(why)


# ---------------------------------------------------------------- softmax


def shares(x, axis=-1):
    x = np.asarray(x)
    wide = widen(x)
    with np.errstate(all="ignore"):
        largest = wide.max(axis=axis, keepdims=True, initial=-np.inf)
        powers = np.exp(wide - largest)
        return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


# ---------------------------------------------------------------- merged states


def check_parts(output_a, logsumexp_a, output_b, logsumexp_b):
    refuse(output_a.ndim != 4 or output_b.ndim != 4, "outputs have rank 4")
    refuse(logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3, "logarithms have rank 3")
    refuse(output_a.shape != output_b.shape, "outputs differ in shape")
    for logarithm in (logsumexp_a, logsumexp_b):
        refuse(logarithm.shape != output_a.shape[:3], "a logarithm belongs to other rows")


def combined(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(array) for array in (output_a, logsumexp_a, output_b, logsumexp_b)]
    check_parts(*arrays)
    dtype = arrays[0].dtype
    kind = np.result_type(*[carried(array.dtype) for array in arrays])
    out_a, log_a, out_b, log_b = (array.astype(kind) for array in arrays)
    with np.errstate(all="ignore"):
        largest = np.maximum(log_a, log_b)
        empty = largest == -np.inf
        anchor = np.where(empty, 0, largest)
        power_a, power_b = np.exp(log_a - anchor), np.exp(log_b - anchor)
        total = np.where(empty, 1, power_a + power_b)
        parts = [
            np.where((log == -np.inf)[..., None], 0, (power / total)[..., None] * out)
            for log, power, out in ((log_a, power_a, out_a), (log_b, power_b, out_b))
        ]
        logarithm = np.where(empty, -np.inf, np.log(total) + anchor)
        lost = np.isnan(log_a) | np.isnan(log_b)
        output = np.where(lost[..., None], np.nan, parts[0] + parts[1])
        return {"output": output.astype(dtype), "logsumexp": logarithm.astype(kind)}


# ---------------------------------------------------------------- attention, backward


def product(left, pairs, right):
    """left @ right, where left is 0 outside of pairs, and what pairs exclude does not matter."""
    bad = ~np.isfinite(right)
    if not bad.any():
        return left @ right
    clean = left @ np.where(bad, 0, right).astype(right.dtype)
    hit = pairs.astype(left.dtype) @ bad.astype(left.dtype) > 0
    return np.where(hit, np.nan, clean).astype(left.dtype)


def turned(array):
    return array.swapaxes(-1, -2)


class Backward:
    """One call. run() goes through the steps; a subclass may replace one."""

    def __init__(self, **arguments):
        for name, argument in arguments.items():
            setattr(self, name, argument)
        for name in ("grad_output", "query", "key", "value"):
            setattr(self, name, np.asarray(getattr(self, name)))
        for name in (
            "output", "logsumexp", "grad_logsumexp", "mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes",
        ):
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name)))

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.prepare()
            self.place()
            self.find_pairs()
            self.find_scores()
            self.find_logits()
            self.find_weights()
            self.find_grad_weights()
            self.find_delta()
            self.find_grad_logits()
            self.find_grad_scores()
            return self.results()

    # refusals

    def check(self):
        q, k, v = self.query, self.key, self.value
        refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
        refuse(q.shape[3] != k.shape[3], "width")
        refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
        refuse(k.shape[1] != v.shape[1], "key and value heads")
        refuse(q.shape[1] % k.shape[1] != 0 if k.shape[1] else q.shape[1] != 0, "grouped heads")
        refuse(k.shape[2] != v.shape[2], "length")
        batch, heads, rows = q.shape[:3]
        columns = k.shape[2]
        for lengths, most in ((self.key_lengths, columns), (self.query_lengths, rows)):
            if lengths is not None:
                refuse(lengths.shape != (batch,), "lengths for another batch")
                refuse((lengths < 0).any() or (lengths > most).any(), "length out of range")
        if self.mask is not None:
            shape = self.mask.shape
            refuse(not 2 <= len(shape) <= 4, "mask rank")
            refuse(shape[-1] != columns, "mask width")
            full = (batch, heads, rows, columns)
            for extent, whole in zip(shape[::-1], full[::-1]):
                refuse(extent not in (1, whole), "mask shape")
            refuse(self.mask.dtype != bool and self.mask.dtype.kind in "iu", "mask of integers")
        refuse(self.grad_output.shape != (batch, heads, rows, v.shape[3]), "grad_output")
        self.check_grad_logsumexp((batch, heads, rows))
        for per_head in (self.sinks, self.alibi_slopes):
            refuse(per_head is not None and per_head.shape != (heads,), "one for each query head")
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "alignment")
        refuse(self.softcap is not None and self.softcap < 0, "softcap")

    def check_grad_logsumexp(self, shape):
        refuse(self.grad_logsumexp is not None and self.grad_logsumexp.shape != shape, "grad_logsumexp")

    # the forward pass

    def prepare(self):
        self.dtype = self.query.dtype
        self.kind = carried(self.dtype)
        self.B, self.H, self.Sq, self.E = self.query.shape
        self.G, self.Sk = self.key.shape[1:3]
        self.Ev = self.value.shape[3]
        self.group = self.H // self.G if self.G else 1
        self.q = self.query.astype(self.kind)
        self.k = np.repeat(self.key.astype(self.kind), self.group, axis=1)
        self.v = np.repeat(self.value.astype(self.kind), self.group, axis=1)
        self.go = self.grad_output.astype(self.kind)
        self.factor = self.kind.type(1 / math.sqrt(self.E) if self.scale is None else self.scale)
        self.full = (self.B, self.H, self.Sq, self.Sk)
        self.float_mask = self.mask is not None and self.mask.dtype != bool

    def place(self):
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths.astype(np.int64)
        self.L = np.full(self.B, self.Sk) if self.key_lengths is None else self.key_lengths.astype(np.int64)
        self.first = self.L - self.N if self.causal_alignment == "bottom_right" else np.zeros(self.B, np.int64)
        self.counts = np.arange(self.Sq) < self.N[:, None]  # (B, Sq)

    def find_pairs(self):
        p = (np.arange(self.Sq) + self.first[:, None])[:, :, None]
        j = np.arange(self.Sk)
        self.distance = np.abs(p - j)  # (B, Sq, Sk)
        pairs = np.broadcast_to(j < self.L[:, None, None], (self.B, self.Sq, self.Sk))
        if self.is_causal:
            pairs = pairs & (j <= p)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                pairs = pairs & (j >= p - left)
            if right is not None:
                pairs = pairs & (j <= p + right)
        pairs = np.broadcast_to(pairs[:, None], self.full)
        if self.mask is not None:
            pairs = pairs & (self.mask if self.mask.dtype == bool else self.mask.astype(self.kind) != -np.inf)
        self.any_row = pairs  # whether or not the query counts
        self.pairs = pairs & self.counts[:, None, :, None]

    def find_scores(self):
        self.dots = self.q @ turned(self.k)
        self.scores = self.factor * self.dots

    def find_logits(self):
        logits = self.scores
        self.tanh = None
        if self.softcap:
            cap = self.kind.type(self.softcap)
            self.tanh = np.tanh(self.scores / cap)
            logits = cap * self.tanh
        if self.alibi_slopes is not None:
            slopes = self.alibi_slopes.astype(self.kind)[None, :, None, None]
            logits = logits - slopes * self.distance[:, None].astype(self.kind)
        if self.float_mask:
            logits = logits + self.mask.astype(self.kind)
        self.logits = logits

    def softmax_of(self, pairs):
        """Weights and logsumexp over the pairs, and the sink."""
        logits = np.where(pairs, self.logits, -np.inf).astype(self.kind)
        largest = logits.max(axis=-1, initial=-np.inf)
        sinks = None if self.sinks is None else self.sinks.astype(self.kind)[None, :, None]
        if sinks is not None:
            largest = np.maximum(largest, sinks)
        largest = np.where(np.isfinite(largest), largest, 0)
        powers = np.exp(logits - largest[..., None])
        total = powers.sum(axis=-1)
        if sinks is not None:
            total = total + np.exp(sinks - largest)
        safe = np.where(total == 0, 1, total)
        weights = np.where(pairs, powers / safe[..., None], 0)
        return weights.astype(self.kind), (np.log(total) + largest).astype(self.kind)

    def find_weights(self):
        self.weights, self.lse = self.softmax_of(self.pairs)

    # gradients

    def find_grad_weights(self):
        self.grad_weights = self.go @ turned(self.v)

    def mean_gradient(self, pairs, weights):
        return np.where(pairs, weights * self.grad_weights, 0).sum(axis=-1)

    def find_delta(self):
        self.delta = self.mean_gradient(self.pairs, self.weights)

    def from_output(self, rows):
        """delta from sums of grad_output times output, nothing where a query has no key or does not count"""
        return np.where(self.pairs.any(axis=-1), rows, 0).astype(self.kind)

    def grad_lse(self):
        """the gradient of the logsumexp, 0 in rows that do not count"""
        if self.grad_logsumexp is None:
            return np.zeros((self.B, self.H, self.Sq), self.kind)
        return np.where(self.counts[:, None], self.grad_logsumexp.astype(self.kind), 0)

    def find_grad_logits(self):
        above = self.grad_weights - self.delta[..., None] + self.grad_lse()[..., None]
        self.grad_logits = np.where(self.pairs, self.weights * above, 0).astype(self.kind)

    def derivative(self):
        return (1 - self.tanh) * (1 + self.tanh)

    def find_grad_scores(self):
        self.grad_scores = self.grad_logits
        if self.tanh is not None:
            self.grad_scores = np.where(self.pairs, self.grad_logits * self.derivative(), 0).astype(self.kind)

    def over_rows(self, pieces, rows):
        """(B, H, Sk, features): for each key, the sum over the queries"""
        return product(turned(pieces), turned(self.pairs), rows)

    def over_group(self, heads):
        return heads.reshape(self.B, self.G, self.group, *heads.shape[2:]).sum(axis=2)

    def query_gradient(self):
        return self.factor * product(self.grad_scores, self.pairs, self.k)

    def key_gradient(self):
        return self.over_group(self.factor * self.over_rows(self.grad_scores, self.q))

    def value_gradient(self):
        return self.over_group(self.over_rows(self.weights, self.go))

    def mask_gradient(self):
        gradient = self.grad_logits
        while gradient.ndim > self.mask.ndim:
            gradient = gradient.sum(axis=0)
        for axis, extent in enumerate(self.mask.shape):
            if extent == 1 and gradient.shape[axis] != 1:
                gradient = gradient.sum(axis=axis, keepdims=True)
        return gradient

    def sink_shares(self):
        sinks = self.sinks.astype(self.kind)[None, :, None]
        return np.where(np.isneginf(sinks), 0, np.exp(sinks - self.lse))

    def sink_gradient(self):
        rows = self.sink_shares() * (self.grad_lse() - self.delta)
        return np.where(self.counts[:, None], rows, 0).sum(axis=(0, 2))

    def results(self):
        found = {
            "grad_query": self.query_gradient().astype(self.dtype),
            "grad_key": self.key_gradient().astype(self.dtype),
            "grad_value": self.value_gradient().astype(self.dtype),
        }
        if self.float_mask:
            found["grad_mask"] = self.mask_gradient().astype(self.kind)
        if self.sinks is not None:
            found["grad_sinks"] = self.sink_gradient().astype(self.kind)
        found["delta"] = self.shown_delta().astype(self.kind)
        found["grad_scores"] = self.grad_scores.astype(self.kind)
        return found

    def shown_delta(self):
        return self.delta


NOTHING = dict.fromkeys(
    ("output", "logsumexp", "grad_logsumexp", "mask", "key_lengths", "query_lengths", "sinks", "alibi_slopes", "scale",
     "softcap", "window")
) | {"is_causal": False, "causal_alignment": "top_left"}


def gradients(**arguments):
    return Backward(**(NOTHING | arguments)).run()


def forward(arguments):
    """output and logsumexp of the forward pass, rounded to the dtype of the query, for who wants them stored"""
    call = Backward(**(NOTHING | arguments))
    with np.errstate(all="ignore"):
        call.check(), call.prepare(), call.place(), call.find_pairs(), call.find_scores(), call.find_logits()
        call.find_weights()
        output = product(call.weights, call.pairs, call.v)
    return output.astype(call.dtype), call.lse.astype(call.dtype)

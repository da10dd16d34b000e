"""Right implementations after the pages, and the parts that the other files use."""
import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np

bfloat16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), bfloat16)


def is_half(dtype):
    return np.dtype(dtype) in (np.dtype(np.float16), bfloat16)


def wide(array):
    """A copy in float64."""
    return np.array(array, dtype=np.float64)


def carried(dtype):
    """The dtype of results that may be wider than that of the run."""
    return np.float32 if is_half(dtype) else np.dtype(dtype)


def quiet():
    return np.errstate(all="ignore")


# ---------------------------------------------------------------- softmax


def softmax(x, axis=-1):
    x = np.asarray(x)
    with quiet():
        numbers = wide(x)
        if x.size:
            numbers = numbers - numbers.max(axis=axis, keepdims=True)
        powers = np.exp(numbers)
        return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


# ---------------------------------------------------------------- merge_states


def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    for output in (output_a, output_b):
        if output.ndim != 4:
            raise ValueError("an output has rank 4")
    for logarithm in (logsumexp_a, logsumexp_b):
        if logarithm.ndim != 3:
            raise ValueError("a logarithm has rank 3")
    if output_a.shape != output_b.shape:
        raise ValueError("outputs of different shapes")
    for logarithm in (logsumexp_a, logsumexp_b):
        if logarithm.shape != output_a.shape[:3]:
            raise ValueError("a logarithm for other rows")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with quiet():
        la, lb = wide(logsumexp_a), wide(logsumexp_b)
        empty_a, empty_b = np.isneginf(la), np.isneginf(lb)
        larger = np.where(empty_b, la, np.where(empty_a, lb, np.maximum(la, lb)))
        shift = np.where(np.isneginf(larger), 0.0, larger)
        wa = np.where(empty_a, 0.0, np.exp(la - shift))
        wb = np.where(empty_b, 0.0, np.exp(lb - shift))
        wa = np.where(empty_b & ~empty_a, 1.0, wa)
        wb = np.where(empty_a & ~empty_b, 1.0, wb)
        total = wa + wb
        safe = np.where(empty_a & empty_b, 1.0, total)
        output = np.where(empty_a[..., None], 0.0, (wa / safe)[..., None] * wide(output_a))
        output = output + np.where(empty_b[..., None], 0.0, (wb / safe)[..., None] * wide(output_b))
        logsumexp = np.where(empty_a & empty_b, -np.inf, np.log(total) + larger)
        return {
            "output": output.astype(output_a.dtype),
            "logsumexp": logsumexp.astype(carried(output_a.dtype)),
        }


# ---------------------------------------------------------------- backward


def apart(weights, things, allowed):
    """weights @ things, in which what is not allowed takes no part, be it NaN."""
    weights = np.where(allowed, weights, 0.0)
    if np.isfinite(things).all():
        return weights @ things
    result = np.zeros(weights.shape[:-1] + things.shape[-1:])
    for index in np.ndindex(*weights.shape[:-1]):
        chosen = allowed[index]
        result[index] = weights[index][chosen] @ things[index[:-1]][chosen]
    return result


def flip(array):
    return array.swapaxes(-1, -2)


class Backward:
    """The steps of the page, one method each."""

    def __call__(
        self, grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
        key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):
        given = dict(locals())
        given.pop("self")
        c = SimpleNamespace(**given)
        for name in (
            "grad_output", "query", "key", "value", "output", "logsumexp", "grad_logsumexp", "mask", "key_lengths",
            "query_lengths", "sinks", "alibi_slopes",
        ):
            if getattr(c, name) is not None:
                setattr(c, name, np.asarray(getattr(c, name)))
        c.dtype = c.query.dtype
        self.check(c)
        with quiet():
            self.widen(c)
            self.place(c)
            self.exclude(c)
            self.score(c)
            self.bias(c)
            self.normalise(c)
            self.differentiate(c)
            return self.finish(c)

    # 1
    def check(self, c):
        for array in (c.query, c.key, c.value):
            if array.ndim != 4:
                raise ValueError("query, key and value have rank 4")
        c.B, c.H, c.Sq, c.E = c.query.shape
        c.K, c.Sk, c.V = c.key.shape[1], c.key.shape[2], c.value.shape[3]
        if c.key.shape[3] != c.E:
            raise ValueError("query and key of different widths")
        if c.E == 0:
            raise ValueError("queries without features")
        if not c.key.shape[0] == c.value.shape[0] == c.B:
            raise ValueError("different batch sizes")
        if c.value.shape[1] != c.K or (c.H % c.K if c.K else c.H):
            raise ValueError("heads do not fit")
        if c.value.shape[2] != c.Sk:
            raise ValueError("key and value of different lengths")
        for lengths, most in ((c.key_lengths, c.Sk), (c.query_lengths, c.Sq)):
            if lengths is None:
                continue
            if lengths.shape != (c.B,):
                raise ValueError("lengths for another batch")
            if ((lengths < 0) | (lengths > most)).any():
                raise ValueError("a length out of range")
        if c.mask is not None:
            full = (c.B, c.H, c.Sq, c.Sk)
            if c.mask.dtype != bool and c.mask.dtype not in FLOATS:
                raise ValueError("a mask of integers")
            if not 2 <= c.mask.ndim <= 4 or c.mask.shape[-1] != c.Sk:
                raise ValueError("mask does not fit")
            if any(m not in (1, f) for m, f in zip(c.mask.shape, full[4 - c.mask.ndim :])):
                raise ValueError("mask does not broadcast")
        for vector in (c.sinks, c.alibi_slopes):
            if vector is not None and vector.shape != (c.H,):
                raise ValueError("sinks and slopes are for each query head")
        if c.causal_alignment not in ("top_left", "bottom_right"):
            raise ValueError("unknown alignment")
        if c.softcap is not None and c.softcap < 0:
            raise ValueError("negative softcap")
        self.check_gradients(c)

    def check_gradients(self, c):
        if c.grad_output.shape != (c.B, c.H, c.Sq, c.V):
            raise ValueError("grad_output of another shape")
        if c.grad_logsumexp is not None and c.grad_logsumexp.shape != (c.B, c.H, c.Sq):
            raise ValueError("grad_logsumexp of another shape")

    # 2, 4
    def widen(self, c):
        c.group = c.H // c.K if c.K else 1
        c.q, c.g = wide(c.query), wide(c.grad_output)
        c.k = np.repeat(wide(c.key), c.group, axis=1)
        c.v = np.repeat(wide(c.value), c.group, axis=1)
        c.gl = np.zeros((c.B, c.H, c.Sq)) if c.grad_logsumexp is None else wide(c.grad_logsumexp)
        c.sink = None if c.sinks is None else wide(c.sinks)[None, :, None]
        c.factor = 1.0 / math.sqrt(c.E) if c.scale is None else float(c.scale)
        c.cap = None if not c.softcap else float(c.softcap)

    # positions
    def place(self, c):
        c.L = np.full(c.B, c.Sk) if c.key_lengths is None else c.key_lengths.astype(np.int64)
        c.N = np.full(c.B, c.Sq) if c.query_lengths is None else c.query_lengths.astype(np.int64)
        c.offset = c.L - c.N if c.causal_alignment == "bottom_right" else np.zeros(c.B, np.int64)
        c.j = np.arange(c.Sk)[None, None, None, :]
        c.i = np.arange(c.Sq)[None, None, :, None]
        c.p = c.i + c.offset[:, None, None, None]

    def exclude(self, c):
        """pattern: by position and length; user: by the mask; counts: of queries; allowed: all."""
        pattern = np.broadcast_to(c.j < c.L[:, None, None, None], (c.B, 1, c.Sq, c.Sk))
        if c.is_causal:
            pattern = pattern & (c.j <= c.p)
        if c.window is not None:
            left, right = c.window
            if left is not None:
                pattern = pattern & (c.j >= c.p - int(left))
            if right is not None:
                pattern = pattern & (c.j <= c.p + int(right))
        shape = (c.B, c.H, c.Sq, c.Sk)
        c.pattern = np.broadcast_to(pattern, shape)
        c.user = np.ones(shape, bool)
        if c.mask is not None:
            c.user = np.broadcast_to(c.mask if c.mask.dtype == bool else ~np.isneginf(wide(c.mask)), shape)
        c.counts = np.broadcast_to((c.i < c.N[:, None, None, None])[..., 0], (c.B, c.H, c.Sq))
        c.allowed = c.pattern & c.user & c.counts[..., None]

    # 3
    def score(self, c):
        c.scores = c.factor * (c.q @ flip(c.k))
        c.slope = 1.0
        c.logits = c.scores
        if c.cap is not None:
            bent = np.tanh(c.scores / c.cap)
            c.logits = c.cap * bent
            c.slope = 1.0 - bent * bent

    def distance(self, c):
        return np.abs(c.p - c.j)

    def bias(self, c):
        if c.alibi_slopes is not None:
            c.logits = c.logits - wide(c.alibi_slopes)[None, :, None, None] * self.distance(c)
        if c.mask is not None and c.mask.dtype != bool:
            c.logits = c.logits + wide(c.mask)
        c.logits = np.where(c.allowed, c.logits, -np.inf)

    def normalise(self, c):
        largest = c.logits.max(axis=-1, initial=-np.inf)
        if c.sink is not None:
            largest = np.maximum(largest, c.sink)
        shift = np.where(np.isneginf(largest), 0.0, largest)
        powers = np.where(c.allowed, np.exp(c.logits - shift[..., None]), 0.0)
        total = powers.sum(axis=-1)
        if c.sink is not None:
            alone = np.exp(c.sink - shift)
            total = total + alone
        safe = np.where(total == 0, 1.0, total)
        c.w = powers / safe[..., None]
        c.lse = np.log(total) + shift
        c.share = None if c.sink is None else alone / safe

    # 5 to 14
    def differentiate(self, c):
        self.value_gradient(c)
        self.weight_gradient(c)
        self.mean(c)
        self.logit_gradient(c)
        c.grad_scores = c.grad_logits * c.slope
        c.grad_scores = np.where(c.allowed, c.grad_scores, 0.0)
        self.query_gradient(c)
        self.key_gradient(c)

    def fold(self, c, array):
        return array.reshape(c.B, c.K, c.group, *array.shape[2:]).sum(axis=2)

    def value_gradient(self, c):
        c.grad_value = self.fold(c, apart(flip(c.w), c.g, flip(c.allowed)))

    def weight_gradient(self, c):
        c.grad_weights = np.where(c.allowed, c.g @ flip(c.v), 0.0)

    def mean(self, c):
        c.delta = np.where(c.allowed, c.w * c.grad_weights, 0.0).sum(axis=-1)

    def logit_gradient(self, c):
        inner = c.grad_weights - c.delta[..., None] + c.gl[..., None]
        c.grad_logits = np.where(c.allowed, c.w * inner, 0.0)

    def query_gradient(self, c):
        c.grad_query = c.factor * apart(c.grad_scores, c.k, c.allowed)

    def key_gradient(self, c):
        c.grad_key = self.fold(c, c.factor * apart(flip(c.grad_scores), c.q, flip(c.allowed)))

    def mask_gradient(self, c):
        gradient = c.grad_logits
        while gradient.ndim > c.mask.ndim:
            gradient = gradient.sum(axis=0)
        axes = tuple(a for a, n in enumerate(c.mask.shape) if n == 1 and gradient.shape[a] != 1)
        return gradient.sum(axis=axes, keepdims=True) if axes else gradient

    def sink_gradient(self, c):
        parts = np.where(c.counts, c.share * (c.gl - c.delta), 0.0)
        return parts.sum(axis=(0, 2))

    # 15
    def finish(self, c):
        result = {name: getattr(c, name).astype(c.dtype) for name in ("grad_query", "grad_key", "grad_value")}
        more = carried(c.dtype)
        if c.mask is not None and c.mask.dtype != bool:
            result["grad_mask"] = self.mask_gradient(c).astype(more)
        if c.sinks is not None:
            result["grad_sinks"] = self.sink_gradient(c).astype(more)
        result["delta"] = c.delta.astype(more)
        result["grad_scores"] = c.grad_scores.astype(more)
        return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Backward()(**locals())


def forward(**given):
    """Output and logsumexp for a backward pass's arguments, in its dtype; for witnesses."""
    shape = given["query"].shape[:3] + given["value"].shape[3:]
    stored = {}

    class Keep(Backward):
        def differentiate(self, c):
            stored["output"] = apart(c.w, c.v, c.allowed).astype(c.dtype)
            stored["logsumexp"] = np.where(c.counts, c.lse, 0.0).astype(c.dtype)
            super().differentiate(c)

    given = dict(given)
    given.setdefault("grad_output", np.zeros(shape, given["query"].dtype))
    Keep()(**given)
    return stored["output"], stored["logsumexp"]

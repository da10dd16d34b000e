"""Right implementations after the pages, and parts that the other files share."""
import numpy as np
import ml_dtypes

ALL = ("float64", "float32", "bfloat16", "float16")
QUIET = {"all": "ignore"}


def work_dtype(array):
    """float64 for float64, else float32."""
    return np.float64 if array.dtype == np.float64 else np.float32


def wide(array):
    return np.asarray(array).astype(np.float64)


def need(condition, text):
    if not condition:
        raise ValueError(text)


# ---------------------------------------------------------------- softmax

def softmax_right(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        return np.ones_like(x)
    with np.errstate(**QUIET):
        w = wide(x)
        e = np.exp(w - w.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


# ---------------------------------------------------------------- merge

def merge_check(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = (np.asarray(t) for t in (output_a, logsumexp_a, output_b, logsumexp_b))
    need(oa.ndim == 4 and ob.ndim == 4, "outputs must have rank 4")
    need(la.ndim == 3 and lb.ndim == 3, "logarithms must have rank 3")
    need(oa.shape == ob.shape, "outputs of different shapes")
    need(la.shape == oa.shape[:3] and lb.shape == oa.shape[:3], "logarithms of other rows than the outputs")
    return oa, la, ob, lb


def merge_average(oa, la, ob, lb, empty_a, empty_b, m):
    """Widened parts to (output, logsumexp), given which are empty and the reference logarithm."""
    m = np.where(np.isneginf(m), 0, m)
    wa = np.where(empty_a, 0, np.exp(la - m))
    wb = np.where(empty_b, 0, np.exp(lb - m))
    total = wa + wb
    none = total == 0
    safe = np.where(none, 1, total)
    out = np.where((empty_a | none)[..., None], 0, (wa / safe)[..., None] * oa)
    out = out + np.where((empty_b | none)[..., None], 0, (wb / safe)[..., None] * ob)
    return out, np.where(none, -np.inf, m + np.log(safe))


def merge_right(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = oa.dtype
    with np.errstate(**QUIET):
        oa, la, ob, lb = wide(oa), wide(la), wide(ob), wide(lb)
        out, lse = merge_average(oa, la, ob, lb, np.isneginf(la), np.isneginf(lb), np.maximum(la, lb))
        return {"output": out.astype(dtype), "logsumexp": lse.astype(dtype)}


# ---------------------------------------------------------------- backward

def product(p, x, attend):
    """Rows of p times x over the attended places alone, so that NaN elsewhere stays out."""
    if np.isfinite(x).all():
        return np.where(attend, p, 0) @ x
    result = np.zeros(p.shape[:-1] + x.shape[-1:], p.dtype)
    for place in np.ndindex(*p.shape[:-1]):
        seen = attend[place]
        if seen.any():
            result[place] = (p[place][seen][:, None] * x[place[:-1]][seen]).sum(axis=0)
    return result


def turned(x):
    return np.swapaxes(x, -1, -2)


def unbroadcast(full, shape):
    full = full.sum(axis=tuple(range(full.ndim - len(shape))))
    axes = tuple(a for a, n in enumerate(shape) if n == 1 and full.shape[a] != 1)
    return full.sum(axis=axes, keepdims=True) if axes else full


class Backward:
    """The gradients step by step; each step is a method, so that another may stand in its place."""

    def __init__(self, **given):
        self.given = given
        for name in ("grad_output", "query", "key", "value", "output", "logsumexp", "grad_logsumexp", "mask",
                     "key_lengths", "query_lengths", "sinks", "alibi_slopes"):
            array = given.get(name)
            setattr(self, name, None if array is None else np.asarray(array))
        for name, default in (("is_causal", False), ("causal_alignment", "top_left"), ("scale", None),
                              ("softcap", None), ("window", None)):
            value = given.get(name)
            setattr(self, name, default if value is None else value)

    # -- what is refused
    def check(self):
        q, k, v = self.query, self.key, self.value
        need(q.ndim == k.ndim == v.ndim == 4, "query, key and value must have rank 4")
        need(q.shape[3] == k.shape[3], "query and key of different widths")
        need(q.shape[0] == k.shape[0] == v.shape[0], "different batch sizes")
        need(k.shape[1] == v.shape[1], "key and value of different numbers of heads")
        hq, hkv = q.shape[1], k.shape[1]
        need(hq % hkv == 0 if hkv else hq == 0, "query heads are no multiple of key heads")
        need(k.shape[2] == v.shape[2], "key and value of different lengths")
        self.B, self.Hq, self.Sq, self.E = q.shape
        self.Hkv, self.Sk, self.Ev = hkv, k.shape[2], v.shape[3]
        for lengths, most in ((self.key_lengths, self.Sk), (self.query_lengths, self.Sq)):
            if lengths is not None:
                need(lengths.shape == (self.B,), "lengths for another batch")
                need(((lengths >= 0) & (lengths <= most)).all(), "length out of range")
        self.check_mask()
        need(self.grad_output.shape == (self.B, self.Hq, self.Sq, self.Ev), "grad_output of another shape")
        if self.grad_logsumexp is not None:
            need(self.grad_logsumexp.shape == (self.B, self.Hq, self.Sq), "grad_logsumexp of another shape")
        for each in (self.sinks, self.alibi_slopes):
            need(each is None or each.shape == (self.Hq,), "sinks and slopes are one for each query head")
        need(self.causal_alignment in ("top_left", "bottom_right"), "unknown alignment")
        need(self.softcap is None or self.softcap >= 0, "negative softcap")

    def check_mask(self):
        if self.mask is None:
            return
        need(2 <= self.mask.ndim <= 4, "mask of rank 2 to 4")
        need(self.mask.shape[-1] == self.Sk, "mask for another number of keys")
        need(self.mask.dtype == bool or not np.issubdtype(self.mask.dtype, np.integer), "mask of integers")
        try:
            np.broadcast_to(self.mask, (self.B, self.Hq, self.Sq, self.Sk))
        except ValueError:
            raise ValueError("mask does not broadcast") from None

    # -- widening
    def widen(self):
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        self.factor = 1 / np.sqrt(self.E) if self.scale is None else float(self.scale)
        self.q, self.go = wide(self.query), wide(self.grad_output)
        self.k = np.repeat(wide(self.key), self.group, axis=1)
        self.v = np.repeat(wide(self.value), self.group, axis=1)
        zeros = np.zeros((self.B, self.Hq, self.Sq))
        self.glse = zeros if self.grad_logsumexp is None else wide(self.grad_logsumexp)
        self.L = np.full(self.B, self.Sk) if self.key_lengths is None else self.key_lengths.astype(np.int64)
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths.astype(np.int64)

    # -- positions and exclusions
    def places(self):
        self.offset = self.L - self.N if self.causal_alignment == "bottom_right" else np.zeros(self.B, np.int64)
        self.p = np.arange(self.Sq)[None, :] + self.offset[:, None]  # (B, Sq)
        self.counts = np.arange(self.Sq)[None, :] < self.N[:, None]

    def mask4(self):
        """The mask with four axes."""
        return self.mask.reshape((1,) * (4 - self.mask.ndim) + self.mask.shape)

    def seen_by_mask(self, mask):
        return mask if mask.dtype == bool else ~np.isneginf(wide(mask))

    def exclude(self):
        j = np.arange(self.Sk)[None, None, :]
        p = self.p[:, :, None]
        see = np.broadcast_to(j < self.L[:, None, None], (self.B, self.Sq, self.Sk))
        if self.is_causal:
            see = see & (j <= p)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                see = see & (j >= p - int(left))
            if right is not None:
                see = see & (j <= p + int(right))
        see = np.broadcast_to(see[:, None], (self.B, self.Hq, self.Sq, self.Sk))
        if self.mask is not None:
            see = see & self.seen_by_mask(self.mask4())
        self.allowed = see
        self.attend = see & self.counts[:, None, :, None]

    def distance(self):
        return np.abs(self.p[:, :, None] - np.arange(self.Sk)[None, None, :])

    # -- forward
    def forward(self):
        self.scores = self.q @ turned(self.k) * self.factor
        self.slope = 1.0
        logits = self.scores
        if self.softcap:
            t = np.tanh(self.scores / float(self.softcap))
            logits = float(self.softcap) * t
            self.slope = 1 - t * t
        if self.alibi_slopes is not None:
            logits = logits - wide(self.alibi_slopes)[None, :, None, None] * self.distance()[:, None]
        if self.mask is not None and self.mask.dtype != bool:
            logits = logits + wide(self.mask4())
        self.logits = np.where(self.attend, logits, -np.inf)

    def normalise(self):
        m = self.logits.max(axis=-1, keepdims=True, initial=-np.inf)
        if self.sinks is not None:
            sink = wide(self.sinks)[None, :, None, None]
            m = np.maximum(m, sink)
        m = np.where(np.isneginf(m), 0, m)
        e = np.where(self.attend, np.exp(self.logits - m), 0)
        total = e.sum(axis=-1, keepdims=True)
        if self.sinks is not None:
            total = total + np.exp(sink - m)
        self.w = np.where(self.attend, e / np.where(total == 0, 1, total), 0)
        self.lse = np.where(total == 0, -np.inf, m + np.log(np.where(total == 0, 1, total)))[..., 0]

    # -- backward
    def weight_gradients(self):
        self.dp = np.where(self.attend, self.go @ turned(self.v), 0)

    def find_delta(self):
        self.delta = np.where(self.attend, self.w * self.dp, 0).sum(axis=-1)

    def delta_from_output(self, output):
        self.delta = np.where(self.attend.any(axis=-1), (self.go * wide(output)).sum(axis=-1), 0)

    def logit_gradients(self):
        self.dl = np.where(self.attend, self.w * (self.dp - self.delta[..., None] + self.glse[..., None]), 0)

    def score_gradients(self):
        self.ds = np.where(self.attend, self.dl * self.slope, 0)

    def over_group(self, each):
        if not self.Hkv:
            return each
        return each.reshape(self.B, self.Hkv, self.group, *each.shape[2:]).sum(axis=2)

    def value_gradient(self):
        return self.over_group(product(turned(self.w), self.go, turned(self.attend)))

    def query_gradient(self):
        return self.factor * product(self.ds, self.k, self.attend)

    def key_gradient(self):
        return self.over_group(self.factor * product(turned(self.ds), self.q, turned(self.attend)))

    def mask_gradient(self):
        return unbroadcast(self.dl, self.mask.shape)

    def sink_share(self):
        sink = wide(self.sinks)[None, :, None]
        return np.where(np.isneginf(sink), 0, np.exp(sink - self.lse))

    def sink_gradient(self):
        each = np.where(self.counts[:, None], self.sink_share() * (self.glse - self.delta), 0)
        return each.sum(axis=(0, 2))

    def passes(self):
        self.widen()
        self.places()
        self.exclude()
        self.forward()
        self.normalise()

    def run(self):
        self.check()
        with np.errstate(**QUIET):
            self.passes()
            self.weight_gradients()
            self.find_delta()
            self.logit_gradients()
            self.score_gradients()
            out = {"grad_query": self.query_gradient(), "grad_key": self.key_gradient(),
                   "grad_value": self.value_gradient()}
            if self.mask is not None and self.mask.dtype != bool:
                out["grad_mask"] = self.mask_gradient()
            if self.sinks is not None:
                out["grad_sinks"] = self.sink_gradient()
            out["delta"], out["grad_scores"] = self.delta, self.ds
            self.last(out)
            return {name: np.array(array, dtype=np.float64).astype(self.query.dtype) for name, array in out.items()}

    def last(self, out):
        pass


def backward_right(**given):
    return Backward(**given).run()


def forward_right(**given):
    """(output, logsumexp) of the forward pass, rounded; used to make stored results."""
    b = Backward(**given)
    b.check()
    with np.errstate(**QUIET):
        b.passes()
        out = product(b.w, b.v, b.attend)
        return out.astype(b.query.dtype), b.lse.astype(b.query.dtype)


def softmax(x, axis=-1):
    return softmax_right(x, axis)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    return merge_right(output_a, logsumexp_a, output_b, logsumexp_b)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    return backward_right(**locals())


dtypes = ALL

"""Right implementations after the pages: softmax, merge_states, scaled_dot_product_attention_backward."""

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
QUIET = {"over": "ignore", "under": "ignore", "invalid": "ignore", "divide": "ignore"}


def work_dtype(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def widen(array, dtype=None):
    array = np.asarray(array)
    return array.astype(work_dtype(array.dtype) if dtype is None else dtype)


def narrow(array, dtype):
    with np.errstate(**QUIET):
        return np.array(np.asarray(array).astype(dtype))


def is_half(dtype):
    return np.dtype(dtype).itemsize == 2


# softmax


def softmax_axes(x, axis):
    """None, or the axis counted from 0; refuses what is out of range."""
    if axis is None:
        return None
    axis = int(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError("axis out of range")
    return axis % x.ndim


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = softmax_axes(x, axis)
    wide = widen(x)
    with np.errstate(**QUIET):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))
        return {"output": narrow(powers / powers.sum(axis=axis, keepdims=True), x.dtype)}


# merge_states


def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(a) for a in (output_a, logsumexp_a, output_b, logsumexp_b)]
    oa, la, ob, lb = arrays
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("outputs are of rank 4, logarithms of rank 3")
    if oa.shape != ob.shape:
        raise ValueError("outputs of different shapes")
    if la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("logarithms of another shape than the outputs")
    return arrays


def merge_weights(la, lb):
    """The larger logarithm and the weight of each part, that of an empty one 0."""
    most = np.maximum(la, lb)
    shift = np.where(np.isneginf(most), 0, most)
    wa = np.where(np.isneginf(la), 0, np.exp(la - shift))
    wb = np.where(np.isneginf(lb), 0, np.exp(lb - shift))
    return most, wa, wb


def merge_average(oa, ob, wa, wb, empty_a, empty_b):
    total = (wa + wb)[..., None]
    mixed = wa[..., None] / total * oa + wb[..., None] / total * ob
    both = np.isfinite(oa) & np.isfinite(ob)
    mixed = np.where(both, np.clip(mixed, np.minimum(oa, ob), np.maximum(oa, ob)), mixed)
    empty_a, empty_b = empty_a[..., None], empty_b[..., None]
    return np.where(empty_a & empty_b, 0, np.where(empty_a, ob, np.where(empty_b, oa, mixed)))


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, work = oa.dtype, work_dtype(oa.dtype)
    oa, la, ob, lb = (widen(a, work) for a in (oa, la, ob, lb))
    with np.errstate(**QUIET):
        empty_a, empty_b = np.isneginf(la), np.isneginf(lb)
        most, wa, wb = merge_weights(la, lb)
        output = merge_average(oa, ob, wa, wb, empty_a, empty_b)
        logsumexp = np.where(empty_a, lb, np.where(empty_b, la, most + np.log(wa + wb)))
    return {"output": narrow(output, dtype), "logsumexp": logsumexp}


# scaled_dot_product_attention_backward


def lengths_of(lengths, batch, most, name):
    if lengths is None:
        return np.full(batch, most, dtype=np.int64)
    lengths = np.asarray(lengths)
    if lengths.shape != (batch,):
        raise ValueError(f"{name} for another number of batch entries")
    lengths = lengths.astype(np.int64)
    if (lengths < 0).any() or (lengths > most).any():
        raise ValueError(f"{name} out of range")
    return lengths


def sum_to(array, shape):
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    repeated = tuple(n for n, (a, s) in enumerate(zip(array.shape, shape)) if s == 1 and a != 1)
    return array.sum(axis=repeated, keepdims=True) if repeated else array


def over_queries(weights, rows, attend):
    """Σ_i weights[i, j] · rows[i]; what a row holds has no effect on keys that it may not attend to."""
    if np.isfinite(rows).all():
        return weights.swapaxes(-1, -2) @ rows
    result = np.zeros(weights.shape[:2] + (weights.shape[3], rows.shape[3]), weights.dtype)
    for i in range(rows.shape[2]):
        product = weights[:, :, i, :, None] * rows[:, :, i, None, :]
        result += np.where(attend[:, :, i, :, None], product, 0)
    return result


def over_keys(weights, columns, attend):
    """Σ_j weights[i, j] · columns[j], excluded ones left out."""
    if np.isfinite(columns).all():
        return weights @ columns
    return over_queries(weights.swapaxes(-1, -2), columns, attend.swapaxes(-1, -2))


class Backward:
    stored = False  # whether output and logsumexp are used where they are given

    def __init__(self, **arguments):
        self.__dict__.update(arguments)

    def run(self):
        with np.errstate(**QUIET):
            self.check()
            self.widen()
            self.place()
            self.allow()
            self.score()
            self.soften()
            self.gradients()
            return self.results()

    def check(self):
        as_array = lambda a: None if a is None else np.asarray(a)
        for name in ("grad_output", "query", "key", "value", "output", "logsumexp", "grad_logsumexp", "mask",
                     "sinks", "alibi_slopes"):
            setattr(self, name, as_array(getattr(self, name)))
        q, k, v = self.query, self.key, self.value
        if not q.ndim == k.ndim == v.ndim == 4:
            raise ValueError("query, key and value are of rank 4")
        self.B, self.Hq, self.Sq, self.E = q.shape
        self.Hkv, self.Sk, self.Ev = k.shape[1], k.shape[2], v.shape[3]
        if k.shape[3] != self.E:
            raise ValueError("query and key of different width")
        if k.shape[0] != self.B or v.shape[0] != self.B:
            raise ValueError("different batch sizes")
        if v.shape[1] != self.Hkv:
            raise ValueError("key and value of different numbers of heads")
        if (self.Hq % self.Hkv if self.Hkv else self.Hq):
            raise ValueError("query heads are no multiple of key heads")
        if v.shape[2] != self.Sk:
            raise ValueError("key and value of different lengths")
        self.check_gradients()
        self.L = lengths_of(self.key_lengths, self.B, self.Sk, "key_lengths")
        self.N = lengths_of(self.query_lengths, self.B, self.Sq, "query_lengths")
        self.full = (self.B, self.Hq, self.Sq, self.Sk)
        if self.mask is not None:
            shape = self.mask.shape
            if not 2 <= len(shape) <= 4 or shape[-1] != self.Sk:
                raise ValueError("mask does not fit")
            if any(m not in (1, f) for m, f in zip(shape[::-1], self.full[::-1])):
                raise ValueError("mask does not broadcast")
        for extra in (self.sinks, self.alibi_slopes):
            if extra is not None and extra.shape != (self.Hq,):
                raise ValueError("one number for each query head")
        if self.causal_alignment not in ("top_left", "bottom_right"):
            raise ValueError("causal_alignment")
        if self.softcap is not None and self.softcap < 0:
            raise ValueError("softcap below 0")

    def check_gradients(self):
        if self.grad_output.shape != (self.B, self.Hq, self.Sq, self.Ev):
            raise ValueError("grad_output of another shape")
        if self.grad_logsumexp is not None and self.grad_logsumexp.shape != (self.B, self.Hq, self.Sq):
            raise ValueError("grad_logsumexp of another shape")

    def widen(self):
        self.dtype, self.work = self.query.dtype, work_dtype(self.query.dtype)
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        self.q, self.do = widen(self.query, self.work), widen(self.grad_output, self.work)
        self.k = np.repeat(widen(self.key, self.work), self.group, axis=1)
        self.v = np.repeat(widen(self.value, self.work), self.group, axis=1)
        self.factor = self.work.type(1 / np.sqrt(self.E) if self.scale is None else self.scale)
        self.float_mask = self.mask is not None and self.mask.dtype != bool
        self.bias = widen(self.mask, self.work) if self.float_mask else None
        self.glse = None if self.grad_logsumexp is None else widen(self.grad_logsumexp, self.work)
        self.sink = None if self.sinks is None else widen(self.sinks, self.work)[None, :, None]
        self.slopes = None if self.alibi_slopes is None else widen(self.alibi_slopes, self.work)[None, :, None, None]

    def place(self):
        start = self.L - self.N if self.causal_alignment == "bottom_right" else np.zeros(self.B, np.int64)
        self.position = np.arange(self.Sq)[None, :] + start[:, None]  # (B, Sq)
        self.counts = np.arange(self.Sq)[None, :] < self.N[:, None]  # (B, Sq)

    def geometry(self):
        j, p = np.arange(self.Sk)[None, None, :], self.position[:, :, None]
        allowed = (j < self.L[:, None, None]) & self.counts[:, :, None]
        if self.is_causal:
            allowed = allowed & (j <= p)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                allowed = allowed & (j >= p - int(left))
            if right is not None:
                allowed = allowed & (j <= p + int(right))
        return allowed[:, None]  # (B, 1, Sq, Sk)

    def mask_allows(self):
        return self.mask if self.mask.dtype == bool else ~np.isneginf(self.bias)

    def allow(self):
        allowed = self.geometry()
        if self.mask is not None:
            allowed = allowed & self.mask_allows()
        self.attend = np.broadcast_to(allowed, self.full)

    def distance(self):
        return np.abs(self.position[:, None, :, None] - np.arange(self.Sk)).astype(self.work)

    def score(self):
        self.dots = self.q @ self.k.swapaxes(-1, -2)
        self.scores = self.dots * self.factor
        logits = self.scores
        if self.softcap:
            self.tanh = np.tanh(self.scores / self.work.type(self.softcap))
            logits = self.work.type(self.softcap) * self.tanh
        if self.slopes is not None:
            logits = logits - self.slopes * self.distance()
        if self.float_mask:
            logits = logits + self.bias
        self.logits = np.where(self.attend, logits, -np.inf).astype(self.work)

    def row_shift(self):
        return self.logits.max(axis=-1, initial=-np.inf)

    def soften(self):
        if self.stored and self.logsumexp is not None:
            self.lse = self.given_logsumexp()
            shift = np.where(np.isneginf(self.lse), 0, self.lse)
            self.weights = np.where(self.attend, np.exp(self.logits - shift[..., None]), 0)
            return
        most = self.row_shift()
        if self.sink is not None:
            most = np.maximum(most, self.sink)
        shift = np.where(np.isneginf(most), 0, most)
        powers = np.where(self.attend, np.exp(self.logits - shift[..., None]), 0)
        total = powers.sum(axis=-1)
        if self.sink is not None:
            total = total + np.exp(self.sink - shift)
        self.lse = np.log(total) + shift
        self.weights = np.where(self.attend, powers / total[..., None], 0)

    def given_logsumexp(self):
        lse = widen(self.logsumexp, self.work)
        keyless = -np.inf if self.sink is None else self.sink
        return np.where(self.attend.any(axis=-1), lse, keyless)

    def gradient_of_weights(self):
        return np.where(self.attend, self.do @ self.v.swapaxes(-1, -2), 0)

    def find_delta(self):
        if self.stored and self.output is not None:
            return np.where(self.attend.any(axis=-1), self.delta_of_output(), 0)
        return (self.weights * self.grad_weights).sum(axis=-1)

    def delta_of_output(self):
        return (self.do * widen(self.output, self.work)).sum(axis=-1)

    def gradient_of_logits(self):
        above = self.grad_weights - self.delta[..., None]
        if self.glse is not None:
            above = above + self.glse[..., None]
        return np.where(self.attend, self.weights * above, 0)

    def gradient_of_sinks(self):
        share = np.exp(self.sink - self.lse)
        each = share * ((0 if self.glse is None else self.glse) - self.delta)
        return np.where(self.counts[:, None, :], each, 0).sum(axis=(0, 2))

    def gradient_of_mask(self):
        return sum_to(self.grad_logits, self.mask.shape)

    def gradient_of_scores(self):
        if not self.softcap:
            return self.grad_logits
        return np.where(self.attend, self.grad_logits * (1 - self.tanh * self.tanh), 0)

    def shared(self, array):
        return array.reshape((self.B, self.Hkv, self.group) + array.shape[2:]).sum(axis=2)

    def gradient_of_value(self):
        return self.shared(over_queries(self.weights, self.do, self.attend))

    def gradient_of_query(self):
        return over_keys(self.grad_scores, self.k, self.attend) * self.factor

    def gradient_of_key(self):
        return self.shared(over_queries(self.grad_scores, self.q, self.attend) * self.factor)

    def gradients(self):
        self.grad_weights = self.gradient_of_weights()
        self.delta = self.find_delta()
        self.grad_logits = self.gradient_of_logits()
        self.grad_scores = self.gradient_of_scores()
        self.grad_value = self.gradient_of_value()
        self.grad_query = self.gradient_of_query()
        self.grad_key = self.gradient_of_key()
        self.grad_mask = self.gradient_of_mask() if self.float_mask else None
        self.grad_sinks = None if self.sink is None else self.gradient_of_sinks()

    def results(self):
        found = {name: narrow(getattr(self, name), self.dtype) for name in ("grad_query", "grad_key", "grad_value")}
        for name in ("grad_mask", "grad_sinks", "delta", "grad_scores"):
            if getattr(self, name) is not None:
                found[name] = np.array(getattr(self, name), dtype=self.work)
        return found


def bind(kind):
    """The operation's function for a kind of Backward."""

    def backward(grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
                 key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                 causal_alignment="top_left", scale=None, softcap=None, window=None):
        return kind(**locals_of(locals())).run()

    return backward


def locals_of(names):
    return {name: thing for name, thing in names.items() if name != "kind"}


scaled_dot_product_attention_backward = bind(Backward)

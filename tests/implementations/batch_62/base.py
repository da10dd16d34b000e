"""Right implementations after the pages, and parts that the other files use."""
import ml_dtypes
import numpy as np

HALF = (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))
FLOATS = HALF + (np.dtype(np.float32), np.dtype(np.float64))


def wide(x):
    """A float64 copy."""
    return np.array(x, dtype=np.float64)


def extra_dtype(dtype):
    return np.dtype(np.float32) if np.dtype(dtype) in HALF else np.dtype(dtype)


def rounded(x, dtype):
    with np.errstate(all="ignore"):
        return np.array(x).astype(dtype)


def need(truth, text):
    if not truth:
        raise ValueError(text)


# ---------------------------------------------------------------- softmax


def softmax_axis(x, axis):
    """None, or the axis counted from the front."""
    x = np.asarray(x)
    if axis is None:
        return None
    axis = int(axis)
    need(-x.ndim <= axis < x.ndim, "axis out of range")
    return axis % x.ndim


def softmax_core(x, axis):
    with np.errstate(all="ignore"):
        distance = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
        power = np.exp(distance)
        return power / power.sum(axis=axis, keepdims=True)


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = softmax_axis(x, axis)
    return {"output": rounded(softmax_core(wide(x), axis), x.dtype)}


# ---------------------------------------------------------------- merge


def merge_checks(output_a, logsumexp_a, output_b, logsumexp_b):
    arrays = [np.asarray(t) for t in (output_a, logsumexp_a, output_b, logsumexp_b)]
    a, la, b, lb = arrays
    need(a.ndim == 4 and b.ndim == 4, "rank of an output")
    need(la.ndim == 3 and lb.ndim == 3, "rank of a logarithm")
    need(a.shape == b.shape, "outputs of different shapes")
    need(la.shape == a.shape[:3] and lb.shape == a.shape[:3], "logarithms for other rows")
    return arrays


def between(result, a, b):
    """Averages lie between what is averaged (but for the rounding)."""
    both = np.isfinite(a) & np.isfinite(b) & ~np.isnan(result)
    return np.where(both, np.clip(result, np.minimum(a, b), np.maximum(a, b)), result)


def merge_core(a, la, b, lb):
    with np.errstate(all="ignore"):
        top = np.maximum(la, lb)
        safe = np.where(np.isneginf(top), 0, top)
        wa = np.where(np.isneginf(la), 0, np.exp(la - safe))
        wb = np.where(np.isneginf(lb), 0, np.exp(lb - safe))
        total = wa + wb
        divisor = np.where(total == 0, 1, total)
        none_a, none_b = np.isneginf(la)[..., None], np.isneginf(lb)[..., None]
        part_a = np.where(none_a, 0, (wa / divisor)[..., None] * a)
        part_b = np.where(none_b, 0, (wb / divisor)[..., None] * b)
        mixed = between(part_a + part_b, a, b)
        output = np.where(none_a, np.where(none_b, 0, part_b), np.where(none_b, part_a, mixed))
        return output, np.where(np.isneginf(top), -np.inf, safe + np.log(total))


def merge_result(output, logsumexp, dtype):
    return {"output": rounded(output, dtype), "logsumexp": rounded(logsumexp, extra_dtype(dtype))}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    a, la, b, lb = merge_checks(output_a, logsumexp_a, output_b, logsumexp_b)
    output, logsumexp = merge_core(wide(a), wide(la), wide(b), wide(lb))
    return merge_result(output, logsumexp, a.dtype)


# ---------------------------------------------------------------- backward


def contract(w, x, allowed):
    """w @ x over the pairs that are allowed alone: (..., i, j), (..., j, e), (..., i, j)."""
    w = np.where(allowed, w, 0)
    finite = np.isfinite(x)
    with np.errstate(all="ignore"):
        if finite.all():
            return np.matmul(w, x)
        reached = np.matmul(allowed.astype(np.float64), (~finite).astype(np.float64)) > 0
        return np.where(reached, np.nan, np.matmul(w, np.where(finite, x, 0)))


def sum_to(x, shape):
    """Sum over the axes that were repeated; x itself where there is none."""
    while x.ndim > len(shape):
        x = x.sum(axis=0)
    for axis, extent in enumerate(shape):
        if extent == 1 and x.shape[axis] != 1:
            x = x.sum(axis=axis, keepdims=True)
    return x


def flipped(x):
    return np.swapaxes(x, -1, -2)


class Backward:
    """One object for one call; the steps are methods."""

    def check(self, grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths, sinks,
              alibi_slopes, causal_alignment, softcap, window):
        need(query.ndim == key.ndim == value.ndim == 4, "rank")
        b, hq, sq, e = query.shape
        hkv, sk, ev = key.shape[1], key.shape[2], value.shape[3]
        need(key.shape[3] == e, "width")
        need(key.shape[0] == b and value.shape[0] == b, "batch")
        need(value.shape[1] == hkv, "heads of key and value")
        need(hq == 0 if hkv == 0 else hq % hkv == 0, "grouped heads")
        need(value.shape[2] == sk, "tokens of key and value")
        need(e > 0, "queries without features")
        need(grad_output.shape == (b, hq, sq, ev), "shape of grad_output")
        if grad_logsumexp is not None:
            need(grad_logsumexp.shape == (b, hq, sq), "shape of grad_logsumexp")
        if mask is not None:
            need(2 <= mask.ndim <= 4, "rank of the mask")
            need(mask.dtype == bool or mask.dtype in FLOATS, "dtype of the mask")
            full = (b, hq, sq, sk)
            need(mask.shape[-1] == sk, "keys of the mask")
            need(all(m in (1, f) for m, f in zip(mask.shape[::-1], full[::-1])), "shape of the mask")
        for lengths, most in ((key_lengths, sk), (query_lengths, sq)):
            if lengths is not None:
                need(lengths.shape == (b,), "lengths of another batch")
                need(np.issubdtype(lengths.dtype, np.integer), "lengths are whole numbers")
                need(((lengths >= 0) & (lengths <= most)).all(), "length out of range")
        for heads in (sinks, alibi_slopes):
            if heads is not None:
                need(heads.shape == (hq,), "one number for each query head")
        need(causal_alignment in ("top_left", "bottom_right"), "causal_alignment")
        need(softcap is None or softcap >= 0, "softcap")
        if window is not None:
            need(len(window) == 2 and all(side is None or side >= 0 for side in window), "window")

    def start(self, grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths,
              sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window):
        array = lambda t: None if t is None else np.asarray(t)
        grad_output, query, key, value = map(np.asarray, (grad_output, query, key, value))
        grad_logsumexp, mask, key_lengths, query_lengths = map(array, (grad_logsumexp, mask, key_lengths, query_lengths))
        sinks, alibi_slopes = array(sinks), array(alibi_slopes)
        self.check(grad_output, query, key, value, grad_logsumexp, mask, key_lengths, query_lengths, sinks, alibi_slopes,
                   causal_alignment, softcap, window)
        self.dtype = query.dtype
        self.B, self.Hq, self.Sq, self.E = query.shape
        self.Hkv, self.Sk, self.Ev = key.shape[1], key.shape[2], value.shape[3]
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        self.q, self.do = wide(query), wide(grad_output)
        self.k = np.repeat(wide(key), self.group, axis=1)
        self.v = np.repeat(wide(value), self.group, axis=1)
        self.glse = np.zeros((self.B, self.Hq, self.Sq)) if grad_logsumexp is None else wide(grad_logsumexp)
        self.mask = mask
        self.float_mask = mask is not None and mask.dtype != bool
        self.given_output, self.given_logsumexp = array(output), array(logsumexp)
        self.key_lengths, self.query_lengths = key_lengths, query_lengths
        self.sinks = None if sinks is None else wide(sinks)
        self.slopes = None if alibi_slopes is None else wide(alibi_slopes)
        self.causal, self.alignment = bool(is_causal), causal_alignment
        self.scale = 1 / np.sqrt(self.E) if scale is None else float(scale)
        self.cap = float(softcap) if softcap else None
        self.window = None if window is None else tuple(window)

    def place(self):
        """Lengths, positions, and which pairs are allowed."""
        b, sq, sk = self.B, self.Sq, self.Sk
        self.L = np.full(b, sk) if self.key_lengths is None else self.key_lengths.astype(np.int64)
        self.N = np.full(b, sq) if self.query_lengths is None else self.query_lengths.astype(np.int64)
        self.first = self.L - self.N if self.alignment == "bottom_right" else np.zeros(b, np.int64)
        i, j = np.arange(sq), np.arange(sk)
        self.counts = (i[None] < self.N[:, None])[:, None]  # (B, 1, Sq)
        self.p = (self.first[:, None] + i[None])[:, None, :, None]  # (B, 1, Sq, 1)
        self.j = j[None, None, None]
        allowed = np.broadcast_to(self.j < self.L[:, None, None, None], (b, self.Hq, sq, sk)) & self.counts[..., None]
        if self.causal:
            allowed = allowed & (self.j <= self.p)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                allowed = allowed & (self.j >= self.p - left)
            if right is not None:
                allowed = allowed & (self.j <= self.p + right)
        if self.mask is not None:
            allowed = allowed & (~np.isneginf(wide(self.mask)) if self.float_mask else self.mask)
        self.allowed = allowed

    def bias(self):
        """What ALiBi adds, or 0."""
        if self.slopes is None:
            return 0.0
        return -self.slopes[None, :, None, None] * np.abs(self.p - self.j)

    def add_biases(self, capped):
        logits = capped + self.bias()
        return logits + wide(self.mask) if self.float_mask else logits

    def score(self):
        self.scores = np.matmul(self.q, flipped(self.k)) * self.scale
        capped = self.cap * np.tanh(self.scores / self.cap) if self.cap else self.scores
        self.raw = self.add_biases(capped)
        self.logits = np.where(self.allowed, self.raw, -np.inf)

    def row_top(self):
        return self.logits.max(axis=-1, initial=-np.inf)

    def weigh(self):
        top = self.row_top()
        if self.sinks is not None:
            top = np.maximum(top, self.sinks[None, :, None])
        top = np.where(np.isneginf(top), 0, top)
        power = np.where(self.allowed, np.exp(self.logits - top[..., None]), 0)
        total = power.sum(axis=-1)
        if self.sinks is not None:
            lone = np.exp(self.sinks[None, :, None] - top)
            total = total + lone
            self.sink_share = lone / total
        self.weights = power / np.where(total == 0, 1, total)[..., None]

    def find_delta(self):
        return np.where(self.allowed, self.weights * self.gw, 0).sum(axis=-1)

    def report_delta(self):
        return self.delta

    def reduce_mask(self, grad_logits):
        return sum_to(grad_logits, self.mask.shape)

    def through_cap(self, grad_logits):
        if not self.cap:
            return grad_logits
        return np.where(self.allowed, grad_logits * (1 - np.tanh(self.scores / self.cap) ** 2), 0)

    def over_queries(self, name, w, x):
        """Sum over the queries, for each query head and key: (B, Hq, Sk, .)."""
        return contract(flipped(w), x, flipped(self.allowed))

    def share_heads(self, x):
        return x.reshape(self.B, self.Hkv, self.group, *x.shape[2:]).sum(axis=2)

    def sink_gradient(self):
        rows = np.where(self.counts, self.sink_share * (self.glse - self.delta), 0)
        return rows.sum(axis=(0, 2))

    def run(self, grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None,
            key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None):
        self.start(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths,
                   sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window)
        with np.errstate(all="ignore"):
            return self.steps()

    def steps(self):
        self.place()
        self.score()
        self.weigh()
        grad_value = self.share_heads(self.over_queries("value", self.weights, self.do))
        self.gw = np.matmul(self.do, flipped(self.v))
        self.delta = self.find_delta()
        rest = self.gw - self.delta[..., None] + self.glse[..., None]
        grad_logits = np.where(self.allowed, self.weights * rest, 0)
        answer = {}
        if self.float_mask:
            answer["grad_mask"] = self.reduce_mask(grad_logits)
        if self.sinks is not None:
            answer["grad_sinks"] = self.sink_gradient()
        grad_scores = self.through_cap(grad_logits)
        answer["grad_query"] = self.scale * contract(grad_scores, self.k, self.allowed)
        answer["grad_key"] = self.scale * self.share_heads(self.over_queries("key", grad_scores, self.q))
        answer["grad_value"] = grad_value
        if self.scale == 0:
            for name in ("grad_query", "grad_key"):
                answer[name] = np.where(np.isnan(answer[name]), answer[name], 0)
        answer["delta"] = self.report_delta()
        answer["grad_scores"] = grad_scores
        return self.rounding(answer)

    def rounding(self, answer):
        order = ("grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks", "delta", "grad_scores")
        wider = ("delta", "grad_scores")
        return {name: rounded(answer[name], extra_dtype(self.dtype) if name in wider else self.dtype)
                for name in order if name in answer}


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Backward().run(**locals())

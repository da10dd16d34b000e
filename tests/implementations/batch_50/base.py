"""A right scaled_dot_product_attention after the pages, in steps that other files may replace one by one."""
from types import SimpleNamespace

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = tuple(np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
HALF = (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))


def named_dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, str(name)) else np.dtype(name)


def need(condition, text):
    if not condition:
        raise ValueError(text)


def weigh(weights, value, counts):
    """Sums of values (B, H, K, Ev) times weights (B, H, S, K), of the keys that count (B, H, S, K) alone."""
    if np.isfinite(value).all():
        return weights @ value
    result = np.empty(weights.shape[:-1] + value.shape[-1:], weights.dtype)
    for column in range(value.shape[-1]):
        part = weights * value[..., column][:, :, None, :]
        result[..., column] = np.where(counts, part, 0).sum(axis=-1)
    return result


class Attention:
    narrow = False  # float32 inside for all but float64

    # What is refused

    def check(self, s):
        q, k, v = s.query, s.key, s.value
        need(q.ndim == k.ndim == v.ndim == 4, "rank")
        s.B, s.Hq, s.Sq, s.E = q.shape
        s.Hkv, s.Sk, s.Ev = k.shape[1], k.shape[2], v.shape[3]
        need(k.shape[3] == s.E, "width")
        need(s.E > 0, "no features")
        need(k.shape[0] == v.shape[0] == s.B, "batch")
        need(v.shape[1] == s.Hkv, "heads of key and value")
        need(s.Hq % s.Hkv == 0 if s.Hkv else s.Hq == 0, "grouped heads")
        need(v.shape[2] == s.Sk, "length")
        need((s.past_key is None) == (s.past_value is None), "one past alone")
        s.P = 0
        if s.past_key is not None:
            need(s.key_lengths is None and s.query_lengths is None, "past and lengths")
            pk, pv = s.past_key, s.past_value
            need(pk.ndim == pv.ndim == 4, "rank of the past")
            need(pk.shape[0] == pv.shape[0] == s.B, "batch of the past")
            need(pk.shape[1] == pv.shape[1] == s.Hkv, "heads of the past")
            need(pk.shape[3] == s.E and pv.shape[3] == s.Ev, "width of the past")
            need(pk.shape[2] == pv.shape[2], "length of the past")
            need(pk.dtype == k.dtype and pv.dtype == v.dtype, "dtype of the past")
            s.P = pk.shape[2]
        s.K = s.P + s.Sk
        self.check_lengths(s)
        self.check_mask(s)
        for name in ("sinks", "alibi_slopes"):
            given = getattr(s, name)
            if given is not None:
                setattr(s, name, np.asarray(given))
                need(np.shape(given) == (s.Hq,), name)
        need(s.causal_alignment in ("top_left", "bottom_right"), "alignment")
        need(s.softcap is None or not s.softcap < 0, "softcap")
        if s.window is not None:
            need(len(s.window) == 2, "window")
        for tensor, name in ((q, "query_scale"), (k, "key_scale"), (v, "value_scale")):
            given = getattr(s, name)
            need((tensor.dtype in QUANTIZED) == (given is not None), name)
            if given is not None:
                shape = np.shape(given)
                need(len(shape) <= 2, name)
                need(all(n in (1, m) for n, m in zip(shape[::-1], (s.Hkv, s.B))), name)
        need(q.dtype not in QUANTIZED or s.output_dtype is not None, "output_dtype")

    def check_lengths(self, s):
        for name, most in (("key_lengths", s.Sk), ("query_lengths", s.Sq)):
            given = getattr(s, name)
            if given is not None:
                given = np.asarray(given)
                need(given.shape == (s.B,), name)
                given = given.astype(np.int64)
                need((given >= 0).all() and (given <= most).all(), name)
                setattr(s, name, given)

    def check_mask(self, s):
        if s.mask is not None:
            need(2 <= s.mask.ndim <= 4, "rank of the mask")
            need(s.mask.shape[-1] == s.K, "keys of the mask")
            full = (s.B, s.Hq, s.Sq, s.K)
            need(all(n in (1, m) for n, m in zip(s.mask.shape[::-1], full[::-1])), "mask")
            need(s.mask.dtype.kind not in "iu", "integer mask")

    # The steps

    def join(self, s):
        s.k, s.v = s.key, s.value
        if s.past_key is not None:
            s.k = np.concatenate([s.past_key, s.key], axis=2)
            s.v = np.concatenate([s.past_value, s.value], axis=2)

    def times(self, s, tensor, given):
        tensor = tensor.astype(s.work)
        if given is None:
            return tensor
        factor = np.broadcast_to(np.asarray(given).astype(s.work), (s.B, s.Hkv))
        if tensor.shape[1] != s.Hkv:
            factor = np.repeat(factor, s.G, axis=1)
        return tensor * factor[:, :, None, None]

    def widen(self, s):
        s.out = np.dtype(s.query.dtype) if s.output_dtype is None else named_dtype(s.output_dtype)
        wide = s.out == np.float64 or not self.narrow
        s.work = np.dtype(np.float64 if wide else np.float32)
        s.side = np.dtype(np.float64 if s.out == np.float64 else np.float32)
        s.G = s.Hq // s.Hkv if s.Hkv else 1
        for tensor, name in ((s.k, "key"), (s.v, "value")):
            given = getattr(s, name + "_scale")
            present = tensor.astype(s.out) if given is None else self.times(s, tensor, given).astype(s.out)
            setattr(s, "present_" + name, np.array(present))
        s.q = self.times(s, s.query, s.query_scale)
        s.k = self.times(s, s.k, s.key_scale)
        s.v = self.times(s, s.v, s.value_scale)
        s.factor = s.E**-0.5 if s.scale is None else float(s.scale)
        for name in ("sinks", "alibi_slopes"):
            if getattr(s, name) is not None:
                setattr(s, name, getattr(s, name).astype(s.work))
        s.bias = None
        if s.mask is not None and s.mask.dtype != bool:
            s.bias = s.mask.astype(s.work)

    def place(self, s):
        s.L = np.full(s.B, s.K) if s.key_lengths is None else s.key_lengths
        s.N = np.full(s.B, s.Sq) if s.query_lengths is None else s.query_lengths
        s.offset = np.full(s.B, s.P) if s.causal_alignment == "top_left" else s.L - s.N
        s.p = np.arange(s.Sq)[None, :] + s.offset[:, None]
        s.p_causal = s.p_window = s.p_alibi = s.p

    def share(self, s):
        s.k = np.repeat(s.k, s.G, axis=1)
        s.v = np.repeat(s.v, s.G, axis=1)

    def positional(self, s):
        """Causality and window, (B, Sq, K)."""
        j = np.arange(s.K)[None, None, :]
        may = np.ones((s.B, s.Sq, s.K), bool)
        if s.is_causal:
            may &= j <= s.p_causal[..., None]
        if s.window is not None:
            left, right = s.window
            if left is not None:
                may &= j >= s.p_window[..., None] - left
            if right is not None:
                may &= j <= s.p_window[..., None] + right
        return may

    def masked(self, s):
        """What the mask leaves, in a shape that broadcasts."""
        return s.mask if s.bias is None else s.bias != -np.inf

    def exclude(self, s):
        may = self.positional(s) & (np.arange(s.K)[None, None, :] < s.L[:, None, None])
        s.may = np.repeat(may[:, None], s.Hq, axis=1)
        if s.mask is not None:
            s.may = s.may & self.masked(s)

    def dot(self, s):
        return s.q @ np.swapaxes(s.k, -1, -2)

    def score(self, s):
        s.raw = self.dot(s)
        s.scores = s.raw * s.work.type(s.factor)

    def cap(self, s, x):
        if s.softcap:
            c = s.work.type(s.softcap)
            x = c * np.tanh(x / c)
        return x

    def distance(self, s):
        return np.abs(s.p_alibi[:, None, :, None] - np.arange(s.K)).astype(s.work)

    def bias_logits(self, s, x):
        if s.alibi_slopes is not None:
            x = x - s.alibi_slopes[None, :, None, None] * self.distance(s)
        if s.bias is not None:
            x = x + s.bias
        return x

    def logit(self, s):
        x = self.bias_logits(s, self.cap(s, s.scores))
        s.logits = np.where(s.may, x, -np.inf).astype(s.work)

    def top(self, s):
        """Number that is subtracted from each row, (B, Hq, Sq, 1)."""
        m = s.logits.max(axis=-1, keepdims=True, initial=-np.inf)
        if s.sinks is not None:
            m = np.maximum(m, s.sinks[None, :, None, None])
        return m

    def total(self, s, e, m):
        t = e.sum(axis=-1, keepdims=True)
        if s.sinks is not None:
            t = t + np.exp(s.sinks[None, :, None, None] - m)
        return t

    def softmax(self, s):
        m = self.top(s)
        m = np.where(m == -np.inf, 0, m).astype(s.work)
        e = np.where(s.may, np.exp(s.logits - m), 0).astype(s.work)
        t = self.total(s, e, m)
        s.weights = np.where(s.may & (t != 0), e / t, 0).astype(s.work)
        s.lse = (m + np.log(t))[..., 0]

    def output(self, s):
        s.o = weigh(s.weights, s.v, s.may)

    def attend(self, s):
        self.softmax(s)
        self.output(s)

    def finish(self, s):
        return {
            "output": s.o.astype(s.out),
            "weights": s.weights.astype(s.side),
            "logsumexp": s.lse.astype(s.side),
            "scores": s.scores.astype(s.side),
            "logits": s.logits.astype(s.side),
            "present_key": s.present_key,
            "present_value": s.present_value,
        }

    def run(self, arguments):
        s = SimpleNamespace(**arguments)
        with np.errstate(all="ignore"):
            self.check(s)
            self.join(s)
            self.widen(s)
            self.place(s)
            self.share(s)
            self.exclude(s)
            self.score(s)
            self.logit(s)
            self.attend(s)
            return self.finish(s)

    # For kinds that go through the keys in tiles

    def tiles(self, s, size):
        return [slice(start, min(start + size, s.K)) for start in range(0, s.K, size)]

    def close(self, s, m, l, acc):
        """Join the sink, divide, and make weights of the logsumexp; m, l (B, Hq, Sq), acc (B, Hq, Sq, Ev)."""
        if s.sinks is not None:
            sink = np.broadcast_to(s.sinks[None, :, None], m.shape)
            new = np.maximum(m, sink)
            safe = np.where(new == -np.inf, 0, new)
            shrink = np.where(m == -np.inf, 0, np.exp(m - safe))
            l, acc, m = l * shrink + np.exp(sink - safe), acc * shrink[..., None], new
        s.o = np.where(l[..., None] == 0, 0, acc / l[..., None]).astype(s.work)
        m = np.where(l == 0, 0, m)
        s.lse = (m + np.log(l)).astype(s.work)
        safe = np.where(s.lse == -np.inf, 0, s.lse)[..., None]
        s.weights = np.where(s.may, np.exp(s.logits - safe), 0).astype(s.work)

    def state(self, s):
        shape = (s.B, s.Hq, s.Sq)
        return np.full(shape, -np.inf, s.work), np.zeros(shape, s.work), np.zeros(shape + (s.Ev,), s.work)


def operation(kind):
    worker = kind()

    def attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                  sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                  causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
        return worker.run({name: each for name, each in locals().items() if name != "worker"})

    attention.__name__ = "scaled_dot_product_attention"
    return attention


scaled_dot_product_attention = operation(Attention)

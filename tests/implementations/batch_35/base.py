"""Right attention after the pages, step by step; the other files replace single steps."""
import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")


class Refused(ValueError):
    pass


def refuse(condition, why):
    if condition:
        raise Refused(why)


def to_dtype(name):
    name = getattr(name, "name", name)
    if isinstance(name, str) and hasattr(ml_dtypes, name):
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def minimum_of(dtype):
    return float(ml_dtypes.finfo(dtype).min)


class Attention:
    def __init__(self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None,
                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
                 output_dtype=None):
        self.query, self.key, self.value, self.mask = query, key, value, mask
        self.past_key, self.past_value = past_key, past_value
        self.key_lengths, self.query_lengths = key_lengths, query_lengths
        self.sinks, self.alibi_slopes = sinks, alibi_slopes
        self.query_scale, self.key_scale, self.value_scale = query_scale, key_scale, value_scale
        self.is_causal, self.causal_alignment = bool(is_causal), causal_alignment
        self.scale, self.softcap, self.window, self.output_dtype = scale, softcap, window, output_dtype

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.prepend()
            self.widen()
            self.place()
            self.share()
            self.score()
            self.bias()
            self.exclude()
            self.softmax()
            self.weigh()
            return self.finish()

    # 1

    def check(self):
        q, k, v = (np.asarray(x) for x in (self.query, self.key, self.value))
        self.query, self.key, self.value = q, k, v
        for x in (q, k, v):
            refuse(x.ndim != 4, "rank")
        refuse(q.shape[3] != k.shape[3], "width")
        refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
        refuse(k.shape[1] != v.shape[1], "heads of key and value")
        refuse(k.shape[2] != v.shape[2], "tokens of key and value")
        self.B, self.Hq, self.Sq, self.E = q.shape
        self.Hkv, self.Sk, self.Ev = v.shape[1:]
        refuse(self.E == 0, "no features")
        if self.Hkv == 0:
            refuse(self.Hq != 0, "no key heads")
            self.G = 1
        else:
            refuse(self.Hq % self.Hkv != 0, "groups")
            self.G = self.Hq // self.Hkv
        refuse((self.past_key is None) != (self.past_value is None), "half a past")
        self.P = 0
        if self.past_key is not None:
            pk, pv = np.asarray(self.past_key), np.asarray(self.past_value)
            self.past_key, self.past_value = pk, pv
            refuse(self.key_lengths is not None or self.query_lengths is not None, "past and lengths")
            refuse(pk.ndim != 4 or pv.ndim != 4, "rank of the past")
            refuse(pk.shape[0] != self.B or pv.shape[0] != self.B, "batch of the past")
            refuse(pk.shape[1] != self.Hkv or pv.shape[1] != self.Hkv, "heads of the past")
            refuse(pk.shape[2] != pv.shape[2], "tokens of the past")
            refuse(pk.shape[3] != self.E or pv.shape[3] != self.Ev, "width of the past")
            self.P = pk.shape[2]
        self.total = self.P + self.Sk
        for name, most in (("key_lengths", self.Sk), ("query_lengths", self.Sq)):
            lengths = getattr(self, name)
            if lengths is not None:
                lengths = np.asarray(lengths)
                refuse(lengths.shape != (self.B,), "lengths of another batch")
                refuse(lengths.size and (lengths.min() < 0 or lengths.max() > most), "length out of range")
                setattr(self, name, lengths.astype(np.int64))
        self.check_mask()
        for name in ("query_scale", "key_scale", "value_scale"):
            s = getattr(self, name)
            if s is not None:
                s = np.asarray(s)
                refuse(s.ndim > 2, "rank of a scale")
                for have, want in zip(s.shape[::-1], (self.Hkv, self.B)):
                    refuse(have not in (1, want), "shape of a scale")
                setattr(self, name, s)
        for name in ("sinks", "alibi_slopes"):
            x = getattr(self, name)
            if x is not None:
                refuse(np.shape(x) != (self.Hq,), name)
        refuse(self.softcap is not None and self.softcap < 0, "softcap")
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "alignment")

    def check_mask(self):
        if self.mask is None:
            return
        m = np.asarray(self.mask)
        refuse(not 2 <= m.ndim <= 4, "rank of the mask")
        refuse(m.shape[-1] != self.total, "keys of the mask")
        for have, want in zip(m.shape[::-1], (self.total, self.Sq, self.Hq, self.B)):
            refuse(have not in (1, want), "shape of the mask")
        refuse(m.dtype != bool and np.issubdtype(m.dtype, np.integer), "mask of integers")
        self.mask = m

    # 2

    def prepend(self):
        if self.past_key is None:
            self.present_key, self.present_value = self.key.copy(), self.value.copy()
        else:
            self.present_key = np.concatenate([self.past_key, self.key], axis=2)
            self.present_value = np.concatenate([self.past_value, self.value], axis=2)

    # 3 and 4

    def widen(self):
        quantized = self.query.dtype.name in QUANTIZED
        if quantized and self.output_dtype is not None:
            self.dtype = to_dtype(self.output_dtype)
        else:
            self.dtype = self.query.dtype
        self.work = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)  # what a kernel would carry
        self.q, self.k, self.v = (x.astype(np.float64) for x in (self.query, self.present_key, self.present_value))
        if self.query_scale is not None:
            self.q = self.q * np.repeat(self.full_scale(self.query_scale), self.G, axis=1)[:, :, None, None]
        if self.key_scale is not None:
            self.k = self.k * self.full_scale(self.key_scale)[:, :, None, None]
        if self.value_scale is not None:
            self.v = self.v * self.full_scale(self.value_scale)[:, :, None, None]
        if self.present_key.dtype.name in QUANTIZED:
            self.present_key = self.k.astype(self.dtype)
        if self.present_value.dtype.name in QUANTIZED:
            self.present_value = self.v.astype(self.dtype)

    def full_scale(self, s):
        return np.broadcast_to(np.asarray(s).astype(np.float64), (self.B, self.Hkv))

    # 5

    def place(self):
        self.L = np.full(self.B, self.total) if self.key_lengths is None else self.key_lengths
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths
        if self.causal_alignment == "top_left":
            self.offset = np.full(self.B, self.P)
        else:
            self.offset = self.L - self.N
        self.p = np.arange(self.Sq)[None, None, :, None] + self.offset[:, None, None, None]
        self.j = np.arange(self.total)

    # 6

    def share(self):
        self.k, self.v = np.repeat(self.k, self.G, axis=1), np.repeat(self.v, self.G, axis=1)

    # 7 and 8

    def factor(self):
        return 1 / np.sqrt(self.E) if self.scale is None else float(self.scale)

    def score(self):
        self.scores = (self.q @ self.k.swapaxes(-1, -2)) * self.factor()

    # 9 to 11

    def distance(self):
        return np.abs(self.p - self.j)

    def slopes(self):
        return np.asarray(self.alibi_slopes).astype(np.float64)

    def cap(self, x):
        if self.softcap is not None and self.softcap > 0:
            return self.softcap * np.tanh(x / self.softcap)
        return x

    def alibi(self):
        return self.slopes()[:, None, None] * self.distance()

    def bias(self):
        self.logits = self.cap(self.scores)
        if self.alibi_slopes is not None:
            self.logits = self.logits - self.alibi()
        if self.mask is not None and self.mask.dtype != bool:
            self.logits = self.logits + self.mask.astype(np.float64)

    # 12

    def length_rule(self):
        return self.j < self.L[:, None, None, None]

    def causal_rule(self):
        return self.j <= self.p if self.is_causal else None

    def window_rule(self):
        if self.window is None:
            return None
        left, right = self.window
        seen = np.ones((1, 1, 1, 1), bool)
        if left is not None:
            seen = seen & (self.j >= self.p - left)
        if right is not None:
            seen = seen & (self.j <= self.p + right)
        return seen

    def mask_rule(self):
        if self.mask is None:
            return None
        return self.mask if self.mask.dtype == bool else ~np.isneginf(self.mask.astype(np.float64))

    def exclude(self):
        self.allowed = np.ones((self.B, self.Hq, self.Sq, self.total), bool)
        for rule in (self.length_rule(), self.causal_rule(), self.window_rule(), self.mask_rule()):
            if rule is not None:
                self.allowed = self.allowed & rule
        self.logits = np.where(self.allowed, self.logits, -np.inf)

    # 13 and 14

    def sink(self):
        """The sinks as (1, Hq, 1, 1); minus infinity is none."""
        if self.sinks is None:
            return np.full((1, max(self.Hq, 0), 1, 1), -np.inf)
        return np.asarray(self.sinks).astype(np.float64)[None, :, None, None]

    def maximum(self, x):
        m = np.maximum(x.max(axis=-1, keepdims=True, initial=-np.inf), self.sink())
        return np.where(np.isneginf(m), 0.0, m)

    def softmax(self):
        m = self.maximum(self.logits)
        e = np.exp(self.logits - m)
        total = e.sum(axis=-1, keepdims=True) + np.exp(self.sink() - m)
        self.normalise(e, m, total)

    def normalise(self, e, m, total):
        self.weights = np.where(self.allowed, e / np.where(total == 0, 1.0, total), 0.0)
        self.logsumexp = (m + np.log(total))[..., 0]

    # 15

    def weigh(self):
        self.output = weighted(self.weights, self.v, self.allowed)

    # 16

    def finish(self):
        wide = self.work
        return {
            "output": self.output.astype(self.dtype),
            "weights": self.weights.astype(wide),
            "logsumexp": self.logsumexp.astype(wide),
            "scores": self.scores.astype(wide),
            "logits": self.logits.astype(wide),
            "present_key": self.present_key,
            "present_value": self.present_value,
        }


def weighted(weights, v, allowed):
    """Weights times values; what excluded values hold does not matter, what allowed ones hold does."""
    finite = np.isfinite(v)
    if finite.all():
        return weights @ v
    out = weights @ np.where(finite, v, 0.0)
    for b, h, j in zip(*np.nonzero(~finite.all(axis=-1))):
        rows = allowed[b, h, :, j]
        add = weights[b, h, rows, j][:, None] * np.where(finite[b, h, j], 0.0, v[b, h, j])
        # a finite neighbour in the same token adds nothing here: it has been summed
        add[:, finite[b, h, j]] = 0.0
        out[b, h, rows] += add
    return out


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()

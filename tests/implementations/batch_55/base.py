"""Right attention after the pages, in parts that the other files replace one at a time."""
import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = tuple(np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


def refuse(condition, why):
    if condition:
        raise ValueError(why)


def named(dtype):
    return np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)


def cast(array, dtype):
    with np.errstate(all="ignore"):
        return np.array(np.asarray(array).astype(dtype), order="C")


class Attention:
    """Dense: every score, one softmax."""

    narrow = F64  # what carries the dtypes below float64
    secondary = True  # weights, scores and logits are returned

    # ---- refusals
    def check(self, a):
        for x in (a.query, a.key, a.value):
            refuse(x.ndim != 4, "rank")
        B, Hq, Sq, E = a.query.shape
        refuse(a.key.shape[3] != E, "width")
        refuse(E == 0, "no features")
        refuse(a.key.shape[0] != B or a.value.shape[0] != B, "batch")
        Hkv, Sk = a.key.shape[1], a.key.shape[2]
        refuse(a.value.shape[1] != Hkv, "heads")
        refuse(Hq % Hkv != 0 if Hkv else Hq != 0, "grouped")
        refuse(a.value.shape[2] != Sk, "length")
        refuse((a.past_key is None) != (a.past_value is None), "half a past")
        P = 0
        if a.past_key is not None:
            refuse(a.key_lengths is not None or a.query_lengths is not None, "past and lengths")
            for x in (a.past_key, a.past_value):
                refuse(x.ndim != 4, "rank")
                refuse(x.shape[0] != B, "batch")
                refuse(x.shape[1] != Hkv, "heads")
            refuse(a.past_key.shape[3] != E, "width")
            refuse(a.past_value.shape[3] != a.value.shape[3], "width")
            P = a.past_key.shape[2]
            refuse(a.past_value.shape[2] != P, "length")
        self.check_lengths(a, B, Sq, Sk)
        if a.mask is not None:
            refuse(a.mask.dtype.kind in "iu", "mask of integers")
            self.check_mask(a.mask, (B, Hq, Sq, P + Sk))
        for x in (a.sinks, a.alibi_slopes):
            refuse(x is not None and x.shape != (Hq,), "one number for each head")
        for x in (a.query_scale, a.key_scale, a.value_scale):
            if x is not None:
                refuse(x.ndim > 2, "scale")
                for have, want in zip(x.shape[::-1], (Hkv, B)):
                    refuse(have not in (1, want), "scale")
        refuse(a.softcap is not None and a.softcap < 0, "softcap")
        refuse(a.causal_alignment not in ("top_left", "bottom_right"), "alignment")

    def check_lengths(self, a, B, Sq, Sk):
        for x, most in ((a.key_lengths, Sk), (a.query_lengths, Sq)):
            if x is not None:
                refuse(x.shape != (B,), "lengths for other batch entries")
                refuse(bool(np.any(x < 0)) or bool(np.any(x > most)), "length out of range")

    def check_mask(self, mask, shape):
        refuse(not 2 <= mask.ndim <= 4, "mask rank")
        refuse(mask.shape[-1] != shape[-1], "mask columns")
        for have, want in zip(mask.shape[::-1], shape[::-1]):
            refuse(have not in (1, want), "mask shape")

    # ---- preparation
    def widen(self, x, work):
        return np.asarray(x).astype(work)

    def scaled(self, x, scale, work):  # scale broadcasts to (B, H)
        return x if scale is None else x * scale.astype(work)[..., None, None]

    def kv_head(self, a):
        return np.arange(a.Hq) // max(a.Hq // a.Hkv, 1) if a.Hkv else np.arange(0)

    def prepare(self, a):
        a.B, a.Hq, a.Sq, a.E = a.query.shape
        a.Hkv, a.Sk, a.Ev = a.key.shape[1], a.key.shape[2], a.value.shape[3]
        a.dtype = a.query.dtype
        if a.dtype in QUANTIZED:
            refuse(a.output_dtype is None, "quantized queries need an output_dtype")
            a.dtype = named(a.output_dtype)
        a.work = F64 if a.dtype == F64 else self.narrow
        a.P = 0 if a.past_key is None else a.past_key.shape[2]
        a.T = a.P + a.Sk
        join = lambda past, new: np.concatenate([past, new], axis=2) if past is not None else np.array(new, order="C")
        pk, pv = join(a.past_key, a.key), join(a.past_value, a.value)
        q = self.widen(a.query, a.work)
        k = self.widen(pk if a.past_key is not None else a.key, a.work)
        v = self.widen(pv if a.past_value is not None else a.value, a.work)
        g = self.kv_head(a)
        a.group = g
        with np.errstate(all="ignore"):
            if a.query_scale is not None:
                s = np.broadcast_to(a.query_scale.astype(a.work), np.broadcast_shapes(a.query_scale.shape, (a.B, a.Hkv)))
                q = q * s[:, g][..., None, None]
            k, v = self.scaled(k, a.key_scale, a.work), self.scaled(v, a.value_scale, a.work)
        a.present_key = cast(k if a.key_scale is not None else pk, a.dtype)
        a.present_value = cast(v if a.value_scale is not None else pv, a.dtype)
        a.q, a.k, a.v = q, k[:, g], v[:, g]

    def lengths(self, a):
        a.L = np.full(a.B, a.T) if a.key_lengths is None else a.key_lengths.astype(np.int64)
        a.N = np.full(a.B, a.Sq) if a.query_lengths is None else a.query_lengths.astype(np.int64)

    def positions(self, a):
        first = np.full(a.B, a.P) if a.causal_alignment == "top_left" else a.L - a.N
        return first[:, None] + np.arange(a.Sq)

    # ---- who may attend to what; each broadcasts to (B, Hq, Sq, T)
    def by_length(self, a):
        return (np.arange(a.T) < a.L[:, None])[:, None, None, :]

    def by_causality(self, a):
        if not a.is_causal:
            return None
        return (np.arange(a.T) <= a.p[:, :, None])[:, None]

    def sides(self, a):
        return (None, None) if a.window is None else tuple(a.window)

    def by_window(self, a):
        left, right = self.sides(a)
        if left is None and right is None:
            return None
        return self.around(a, a.p[:, None, :, None], left, right)

    def around(self, a, p, left, right):
        j = np.arange(a.T)
        inside = np.ones(np.broadcast_shapes(p.shape, j.shape), bool)
        if left is not None:
            inside &= j >= p - left
        if right is not None:
            inside &= j <= p + right
        return inside

    def mask4(self, a):
        return np.broadcast_to(a.mask, (a.B, a.Hq, a.Sq, a.T))

    def by_mask(self, a):
        if a.mask is None:
            return None
        m = self.mask4(a)
        return m if m.dtype == bool else m.astype(np.float64) != -np.inf

    def parts(self, a):
        return {"length": self.by_length(a), "causal": self.by_causality(a), "window": self.by_window(a), "mask": self.by_mask(a)}

    def allowed(self, a, parts):
        allowed = np.ones((a.B, a.Hq, a.Sq, a.T), bool)
        for part in parts.values():
            if part is not None:
                allowed &= part
        return allowed

    # ---- logits
    def factor(self, a):
        return a.work.type(1 / math.sqrt(a.E) if a.scale is None else a.scale)

    def dots(self, a):
        return a.q @ a.k.swapaxes(-1, -2)

    def scores(self, a):
        return self.dots(a) * self.factor(a)

    def cap(self, a, scores):
        return np.tanh(scores / a.work.type(a.softcap)) * a.work.type(a.softcap) if a.softcap else scores

    def distance(self, a):
        return np.abs(a.p[:, None, :, None] - np.arange(a.T)).astype(a.work)

    def bias(self, a, logits):
        if a.alibi_slopes is None:
            return logits
        return logits - a.alibi_slopes.astype(a.work)[:, None, None] * self.distance(a)

    def add_mask(self, a, logits):
        if a.mask is None or a.mask.dtype == bool:
            return logits
        return logits + self.mask4(a).astype(a.work)

    def sink(self, a):  # (Hq, 1, 1), minus infinity without
        if a.sinks is None:
            return np.full((a.Hq, 1, 1), -np.inf, a.work)
        return a.sinks.astype(a.work)[:, None, None]

    # ---- softmax and values
    def weigh(self, a, weights, allowed, v):
        if np.all(np.isfinite(v)):
            return weights @ v
        products = weights[..., None] * v[..., None, :, :]
        return np.where(allowed[..., None], products, a.work.type(0)).sum(axis=-2)

    def total(self, a, e, s):
        return e.sum(axis=-1, keepdims=True) + s

    def maximum(self, a, logits, sink):
        return np.maximum(logits.max(axis=-1, keepdims=True, initial=-np.inf), sink)

    def core(self, a):
        """Sets a.weights, a.logsumexp, a.out from a.logits, a.may, self.sink."""
        sink = self.sink(a)
        m = self.maximum(a, a.logits, sink)
        safe = np.where(m == -np.inf, a.work.type(0), m)
        e = np.where(a.may, np.exp(a.logits - safe), a.work.type(0))
        total = self.total(a, e, np.exp(sink - safe))
        nothing = total == 0
        a.weights = e / np.where(nothing, a.work.type(1), total)
        a.logsumexp = np.where(nothing, -np.inf, safe + np.log(np.where(nothing, 1, total)))[..., 0]
        a.out = self.weigh(a, a.weights, a.may, a.v)

    def run(self, a):
        with np.errstate(all="ignore"):
            self.check(a)
            self.prepare(a)
            self.lengths(a)
            a.p = self.positions(a)
            a.parts = self.parts(a)
            a.may = self.allowed(a, a.parts)
            a.scores = self.scores(a)
            a.capped = self.cap(a, a.scores)
            a.biased = self.bias(a, a.capped)
            a.raw = self.add_mask(a, a.biased)
            a.logits = np.where(a.may, a.raw, a.work.type(-np.inf))
            self.core(a)
            return self.results(a)

    def results(self, a):
        side = F64 if a.dtype == F64 else F32
        out = {"output": cast(a.out, a.dtype)}
        if self.secondary:
            out["weights"] = cast(a.weights, side)
        out["logsumexp"] = cast(a.logsumexp, side)
        if self.secondary:
            out["scores"], out["logits"] = cast(a.scores, side), cast(a.logits, side)
        out["present_key"], out["present_value"] = a.present_key, a.present_value
        return out


class Tiled(Attention):
    """Tiles of queries and keys, with a running maximum; weights are never written down."""

    secondary = False
    rows, columns = 16, 16

    def first_key(self, a, p):  # p: positions of the queries of the tile
        left, _ = self.sides(a)
        if left is None:
            return 0
        return max(0, int(p.min()) - left) // self.columns * self.columns

    def behind_last_key(self, a, p, length):
        end = length
        if a.is_causal:
            end = min(end, int(p.max()) + 1)
        _, right = self.sides(a)
        if right is not None:
            end = min(end, int(p.max()) + right + 1)
        return end

    def tile_may(self, a, b, rows, keys, p):
        return a.may[b, :, rows, keys]

    def tiles(self, a, b, p):
        length = int(a.L[b])
        start, end = self.first_key(a, p), self.behind_last_key(a, p, length)
        return [slice(k, min(k + self.columns, a.T)) for k in range(start, end, self.columns)]

    def begin(self, a, n):
        """The running maximum, sum and accumulator; the sink is the first logit."""
        m = np.broadcast_to(self.sink(a), (a.Hq, n, 1)).copy()
        return m, np.where(m == -np.inf, 0, 1).astype(a.work), np.zeros((a.Hq, n, a.Ev), a.work)

    def step(self, a, state, logits, may, v):
        m, l, acc = state
        new = np.maximum(m, logits.max(axis=-1, keepdims=True, initial=-np.inf))
        safe = np.where(new == -np.inf, a.work.type(0), new)
        e = np.where(may, np.exp(logits - safe), a.work.type(0))
        keep = np.where(m == -np.inf, a.work.type(0), np.exp(m - safe))
        return new, l * keep + e.sum(axis=-1, keepdims=True), acc * keep + self.weigh(a, e, may, v)

    def end(self, a, state):
        m, l, acc = state
        nothing = l == 0
        out = acc / np.where(nothing, a.work.type(1), l)
        return out, np.where(nothing, -np.inf, m + np.log(np.where(nothing, 1, l)))[..., 0]

    def core(self, a):
        a.out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), a.work)
        a.logsumexp = np.zeros((a.B, a.Hq, a.Sq), a.work)
        for b in range(a.B):
            for q in range(0, a.Sq, self.rows):
                rows = slice(q, min(q + self.rows, a.Sq))
                p = a.p[b, rows]
                state = self.begin(a, len(p))
                for keys in self.tiles(a, b, p):
                    may = self.tile_may(a, b, rows, keys, p)
                    logits = np.where(may, a.raw[b, :, rows, keys], a.work.type(-np.inf))
                    state = self.step(a, state, logits, may, a.v[b, :, keys])
                a.out[b, :, rows], a.logsumexp[b, :, rows] = self.end(a, state)


def operation(kind):
    arrays = ("query", "key", "value", "mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks",
              "alibi_slopes", "query_scale", "key_scale", "value_scale")

    def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                     query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                     value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                     softcap=None, window=None, output_dtype=None):
        given = dict(locals())
        a = SimpleNamespace(**{n: given[n] for n in (*arrays, "is_causal", "causal_alignment", "scale", "softcap", "window",
                                                      "output_dtype")})
        for name in arrays:
            if getattr(a, name) is not None:
                setattr(a, name, np.asarray(getattr(a, name)))
        return kind().run(a)

    return scaled_dot_product_attention


scaled_dot_product_attention = operation(Attention)

"""scaled_dot_product_attention after the pages, in steps that can be replaced one by one."""
from types import SimpleNamespace

import ml_dtypes
import numpy as np

HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
QUANTIZED = (np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(np.int8))


class Refused(ValueError):
    pass


def refuse_if(condition, why):
    if condition:
        raise Refused(why)


def dtype_named(name):
    return np.dtype(ml_dtypes.bfloat16) if str(name) == "bfloat16" else np.dtype(name)


def safe(maximum):
    """The maximum to subtract: 0 for a row of nothing."""
    return np.where(maximum == -np.inf, np.zeros((), maximum.dtype), maximum)


def weigh(weights, allowed, values):
    """Sum of weights times values, in which excluded keys have no part whatever they hold."""
    finite = np.isfinite(values)
    if finite.all():
        return weights @ values
    result = weights @ np.where(finite, values, 0)
    bad = ~finite
    columns = np.nonzero(bad.any(axis=tuple(a for a in range(values.ndim) if a != values.ndim - 2)))[0]
    allowed = np.broadcast_to(allowed, weights.shape)
    for c in columns:
        term = weights[..., c, None] * values[..., None, c, :]
        take = allowed[..., c, None] & bad[..., None, c, :]
        result = result + np.where(take, term, 0)
    return result.astype(weights.dtype)


def part(logits, allowed, values):
    """Largest logit, sum of exponentials and weighed sum of some of the keys."""
    allowed = np.broadcast_to(allowed, logits.shape)
    kept = np.where(allowed, logits, -np.inf).astype(logits.dtype)
    m = kept.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.where(allowed, np.exp(kept - safe(m)), 0).astype(logits.dtype)
    return m, e.sum(axis=-1, keepdims=True), weigh(e, allowed, values)


def merge(one, other):
    m = np.maximum(one[0], other[0])
    a, b = np.exp(one[0] - safe(m)), np.exp(other[0] - safe(m))
    return m, one[1] * a + other[1] * b, one[2] * a + other[2] * b


class Attention:
    def __init__(self, arguments):
        self.a = SimpleNamespace(**arguments)

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.prepare()
            return self.finish(self.attend())

    # what is refused

    def check(self):
        a = self.a
        q, k, v = a.query, a.key, a.value
        refuse_if(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
        refuse_if((a.past_key is None) != (a.past_value is None), "half a past")
        refuse_if(q.shape[3] != k.shape[3], "width")
        refuse_if(q.shape[3] == 0, "no features")
        refuse_if(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
        self.check_heads(q.shape[1], k.shape[1], v.shape[1])
        refuse_if(k.shape[2] != v.shape[2], "length")
        B, Hq, Sq, E = q.shape
        Hkv, Sk = k.shape[1:3]
        P = 0
        if a.past_key is not None:
            pk, pv = a.past_key, a.past_value
            refuse_if(pk.ndim != 4 or pv.ndim != 4, "rank of the past")
            refuse_if(pk.shape[0] != B or pv.shape[0] != B, "batch of the past")
            refuse_if(pk.shape[1] != Hkv or pv.shape[1] != Hkv, "heads of the past")
            refuse_if(pk.shape[2] != pv.shape[2], "length of the past")
            refuse_if(pk.shape[3] != E or pv.shape[3] != v.shape[3], "width of the past")
            refuse_if(a.key_lengths is not None or a.query_lengths is not None, "past and lengths")
            P = pk.shape[2]
        for lengths, most in ((a.key_lengths, Sk), (a.query_lengths, Sq)):
            if lengths is not None:
                lengths = np.asarray(lengths)
                refuse_if(lengths.shape != (B,), "lengths of another batch")
                refuse_if((lengths < 0).any() or (lengths > most).any(), "length out of range")
        if a.mask is not None:
            self.check_mask(np.asarray(a.mask), (B, Hq, Sq, P + Sk))
        for scale in (a.query_scale, a.key_scale, a.value_scale):
            if scale is not None:
                shape = np.shape(scale)
                refuse_if(len(shape) > 2, "rank of a scale")
                for n, full in zip(shape[::-1], (Hkv, B)):
                    refuse_if(n not in (1, full), "shape of a scale")
        for numbers in (a.sinks, a.alibi_slopes):
            refuse_if(numbers is not None and np.shape(numbers) != (Hq,), "one number for each head")
        refuse_if(a.causal_alignment not in ("top_left", "bottom_right"), "alignment")
        refuse_if(a.softcap is not None and a.softcap < 0, "softcap")

    def check_heads(self, hq, hk, hv):
        refuse_if(hk != hv, "heads of key and value")
        refuse_if(hq % hk != 0 if hk else hq != 0, "grouped")

    def check_mask(self, mask, full):
        refuse_if(mask.ndim < 2 or mask.ndim > 4, "rank of the mask")
        refuse_if(mask.dtype != bool and mask.dtype.kind in "iu", "mask of integers")
        refuse_if(mask.shape[-1] != full[3], "keys of the mask")
        for n, whole in zip(mask.shape[::-1], full[::-1]):
            refuse_if(n not in (1, whole), "shape of the mask")

    # steps 2 to 6

    def prepare(self):
        a = self.a
        self.B, self.Hq, self.Sq, self.E = a.query.shape
        self.Hkv, self.Sk = a.key.shape[1:3]
        self.G = self.Hq // self.Hkv if self.Hkv else 1
        self.Ev = a.value.shape[3]
        self.P = 0 if a.past_key is None else a.past_key.shape[2]
        self.K = self.P + self.Sk
        quantized = a.query.dtype in QUANTIZED
        refuse_if(quantized and a.output_dtype is None, "output_dtype is missing")
        self.out = dtype_named(a.output_dtype) if quantized else a.query.dtype
        self.work = np.dtype(np.float64 if self.out == np.float64 else np.float32)
        if a.past_key is None:
            key, value = a.key, self.read_value(a.value)
            self.present = np.array(a.key), np.array(a.value)
        else:
            key = np.concatenate([a.past_key, a.key], axis=2)
            value = np.concatenate([a.past_value, self.read_value(a.value)], axis=2)
            self.present = key, np.concatenate([a.past_value, a.value], axis=2)
        self.q = a.query.astype(self.work)
        if a.query_scale is not None:
            self.q = self.q * np.repeat(self.spread(a.query_scale), self.G, axis=1)
        key, value = key.astype(self.work), value.astype(self.work)
        if a.key_scale is not None:
            key = key * self.spread(a.key_scale)
            self.present = key, self.present[1]
        if a.value_scale is not None:
            value = value * self.spread(a.value_scale)
            self.present = self.present[0], value
        self.k, self.v = np.repeat(key, self.G, axis=1), np.repeat(value, self.G, axis=1)
        self.scale = self.work.type(1 / np.sqrt(np.float64(self.E)) if a.scale is None else a.scale)
        self.L = np.full(self.B, self.K) if a.key_lengths is None else np.asarray(a.key_lengths).astype(np.int64)
        self.N = np.full(self.B, self.Sq) if a.query_lengths is None else np.asarray(a.query_lengths).astype(np.int64)
        self.j = np.arange(self.K)
        self.p = self.positions()
        self.mask = None
        if a.mask is not None:
            mask = np.asarray(a.mask)
            self.mask = self.place_mask(mask if mask.dtype == bool else mask.astype(self.work))
        self.sinks = None if a.sinks is None else np.asarray(a.sinks).astype(self.work).reshape(1, self.Hq, 1, 1)

    def read_value(self, value):
        return value

    def spread(self, scale):
        return np.broadcast_to(np.asarray(scale, self.work), (self.B, self.Hkv))[:, :, None, None]

    def place_mask(self, mask):
        """Rank 4."""
        return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)

    def positions(self):
        """(B, Sq)"""
        i = np.arange(self.Sq)[None, :]
        if self.a.causal_alignment == "top_left":
            return np.broadcast_to(i + self.P, (self.B, self.Sq))
        return i + (self.L - self.N)[:, None]

    # steps 7 to 12

    def dots(self):
        return self.q @ self.k.swapaxes(-1, -2)

    def cap(self, scores):
        c = self.a.softcap
        if c is None or c == 0:
            return scores
        c = self.work.type(c)
        return c * np.tanh(scores / c)

    def alibi_positions(self):
        return self.p

    def distances(self):
        """(B, 1, Sq, K)"""
        return np.abs(self.alibi_positions()[:, None, :, None] - self.j).astype(self.work)

    def bias(self, logits):
        if self.a.alibi_slopes is not None:
            slopes = np.asarray(self.a.alibi_slopes).astype(self.work).reshape(1, self.Hq, 1, 1)
            logits = logits - slopes * self.distances()
        if self.mask is not None and self.mask.dtype != bool:
            logits = logits + self.mask
        return logits

    def causal(self):
        return self.j <= self.p[:, None, :, None]

    def sides(self):
        window = self.a.window
        return (None, None) if window is None else (window[0], window[1])

    def windowed(self):
        left, right = self.sides()
        p = self.p[:, None, :, None]
        ok = np.ones(p.shape[:3] + (self.K,), bool)
        if left is not None:
            ok = ok & (self.j >= p - left)
        if right is not None:
            ok = ok & (self.j <= p + right)
        return ok

    def geometry(self):
        ok = np.broadcast_to(self.j < self.L[:, None, None, None], (self.B, 1, self.Sq, self.K))
        if self.a.is_causal:
            ok = ok & self.causal()
        return ok & self.windowed()

    def masked(self):
        if self.mask is None:
            return np.ones((1, 1, 1, self.K), bool)
        return self.mask if self.mask.dtype == bool else self.mask != -np.inf

    def allowed(self):
        return np.broadcast_to(self.geometry() & self.masked(), (self.B, self.Hq, self.Sq, self.K))

    # steps 13 to 15

    def largest(self, logits, allowed):
        m = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        return m if self.sinks is None else np.maximum(m, self.sinks)

    def sum_up(self, exponentials):
        return exponentials.sum(axis=-1, keepdims=True)

    def normalise(self, logits, allowed):
        m = safe(self.largest(logits, allowed))
        e = np.where(allowed, np.exp(logits - m), 0).astype(self.work)
        total = self.sum_up(e)
        if self.sinks is not None:
            total = total + np.exp(self.sinks - m)
        weights = np.where(allowed, e / np.where(total == 0, 1, total), 0)
        lse = np.where(total == 0, -np.inf, np.log(total) + m)
        return weights.astype(self.work), lse[..., 0].astype(self.work)

    def logits_of(self, scores, allowed):
        return np.where(allowed, self.bias(self.cap(scores)), -np.inf).astype(self.work)

    def attend(self):
        scores = self.dots() * self.scale
        allowed = self.allowed()
        logits = self.logits_of(scores, allowed)
        weights, lse = self.normalise(logits, allowed)
        output = weigh(weights, allowed, self.v)
        return {"output": output, "weights": weights, "logsumexp": lse, "scores": scores, "logits": logits}

    # step 16

    def finish(self, outputs):
        outputs["output"] = outputs["output"].astype(self.out)
        outputs["present_key"] = self.present[0].astype(self.out)
        outputs["present_value"] = self.present[1].astype(self.out)
        return outputs


class Tiled(Attention):
    """Tiles of queries and keys, with a running maximum. Gives output and logsumexp."""

    rows, columns = 32, 32

    def key_tiles(self, b, q0, q1):
        return range(0, self.K, self.columns)

    def tile_allowed(self, b, q0, q1, k0, k1):
        return self.ok[b, :, q0:q1, k0:k1]

    def join(self, state, new):
        return merge(state, new)

    def close(self, state):
        m, total, acc = state
        if self.sinks is not None:
            sink = np.broadcast_to(self.sinks[0], m.shape)
            m, total, acc = merge(state, (sink, np.ones_like(total), np.zeros_like(acc)))
        lse = np.where(total == 0, -np.inf, np.log(total) + safe(m))
        return acc / np.where(total == 0, 1, total), lse[..., 0]

    def attend(self):
        self.ok = self.allowed()
        logits = self.bias(self.cap(self.dots() * self.scale)).astype(self.work)
        output = np.zeros((self.B, self.Hq, self.Sq, self.Ev), self.work)
        lse = np.zeros((self.B, self.Hq, self.Sq), self.work)
        for b in range(self.B):
            for q0 in range(0, self.Sq, self.rows):
                q1 = min(q0 + self.rows, self.Sq)
                shape = (self.Hq, q1 - q0)
                state = (np.full((*shape, 1), -np.inf, self.work), np.zeros((*shape, 1), self.work),
                         np.zeros((*shape, self.Ev), self.work))
                for k0 in self.key_tiles(b, q0, q1):
                    k1 = min(k0 + self.columns, self.K)
                    ok = self.tile_allowed(b, q0, q1, k0, k1)
                    state = self.join(state, part(logits[b, :, q0:q1, k0:k1], ok, self.v[b, :, k0:k1]))
                output[b, :, q0:q1], lse[b, :, q0:q1] = self.close(state)
        return {"output": output, "logsumexp": lse}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(locals()).run()

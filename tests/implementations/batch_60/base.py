"""Attention after the pages, in steps that the other files can replace one by one."""
import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = {np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(np.int8)}


def named(name):
    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


def need(condition, text):
    if not condition:
        raise ValueError(text)


class Attention:
    # ---- what may be replaced -------------------------------------------------------------------------------------
    def work_dtype(self, dtype):
        return np.dtype(np.float64)

    def check_tokens(self, s):
        need(s.key.shape[2] == s.value.shape[2], "key and value of different lengths")
        if s.past_key is not None:
            need(s.past_key.shape[2] == s.past_value.shape[2], "past keys and values of different lengths")

    def check(self, s):
        for x in (s.query, s.key, s.value):
            need(x.ndim == 4, "rank 4")
        need((s.past_key is None) == (s.past_value is None), "past_key and past_value come together")
        q, k, v = s.query.shape, s.key.shape, s.value.shape
        need(q[3] > 0, "queries without features")
        need(q[3] == k[3], "widths differ")
        need(q[0] == k[0] == v[0], "batch sizes differ")
        need(k[1] == v[1], "key and value heads differ")
        need(q[1] % k[1] == 0 if k[1] else q[1] == 0, "query heads are no multiple of key heads")
        if s.past_key is not None:
            need(s.key_lengths is None and s.query_lengths is None, "past and lengths together")
            need(s.past_key.ndim == 4 and s.past_value.ndim == 4, "rank 4")
            pk, pv = s.past_key.shape, s.past_value.shape
            need(pk[0] == q[0] and pv[0] == q[0], "batch of the past")
            need(pk[1] == k[1] and pv[1] == k[1], "heads of the past")
            need(pk[3] == k[3] and pv[3] == v[3], "width of the past")
        self.check_tokens(s)
        for name, most in (("key_lengths", k[2]), ("query_lengths", q[2])):
            x = getattr(s, name)
            if x is not None:
                need(x.shape == (q[0],), name + ": one for each batch entry")
                need(x.dtype.kind in "iu", name + ": whole numbers")
                need(bool(((x >= 0) & (x <= most)).all()), name + " out of range")
        for name in ("sinks", "alibi_slopes"):
            x = getattr(s, name)
            if x is not None:
                need(x.shape == (q[1],), name + ": one for each query head")
        for name in ("query_scale", "key_scale", "value_scale"):
            x = getattr(s, name)
            if x is not None:
                need(x.ndim <= 2, name)
                for have, axis in zip(x.shape[::-1], (k[1], q[0])):
                    need(have in (1, axis), name)
        need(s.causal_alignment in ("top_left", "bottom_right"), "causal_alignment")
        need(s.softcap is None or s.softcap >= 0, "softcap below 0")

    def check_mask(self, s):
        m = s.mask
        if m is None:
            return
        need(m.dtype.kind not in "iu", "mask of integers")
        need(2 <= m.ndim <= 4, "rank of the mask")
        full = (s.B, s.Hq, s.Sq, s.T)
        need(m.shape[-1] == s.T, "last axis of the mask")
        for have, axis in zip(m.shape[::-1], full[::-1]):
            need(have in (1, axis), "mask does not broadcast")

    def lengths(self, s):
        L = np.full(s.B, s.T) if s.key_lengths is None else s.key_lengths.astype(np.int64)
        N = np.full(s.B, s.Sq) if s.query_lengths is None else s.query_lengths.astype(np.int64)
        return L, N

    def offsets(self, s):
        return np.full(s.B, s.P) if s.causal_alignment == "top_left" else s.L - s.N

    def values(self, s, value):
        return value

    def visible(self, s):
        """What causality and the window leave: (B, Sq, T)."""
        p, j = s.p[:, :, None], np.arange(s.T)[None, None]
        ok = np.ones((s.B, s.Sq, s.T), bool)
        if s.is_causal:
            ok &= j <= p
        if s.window is not None:
            left, right = s.window
            if left is not None:
                ok &= j >= p - int(left)
            if right is not None:
                ok &= j <= p + int(right)
        return ok

    def kept(self, s):
        """What the mask leaves, (B, Hq, Sq, T), or None."""
        if s.mask is None:
            return None
        m = s.mask if s.mask.dtype == bool else s.mask.astype(np.float64) != -np.inf
        return np.broadcast_to(m, (s.B, s.Hq, s.Sq, s.T))

    def counted(self, s):
        return (np.arange(s.T)[None] < s.L[:, None])[:, None, None]

    def allowed(self, s):
        ok = np.broadcast_to(self.visible(s)[:, None] & self.counted(s), (s.B, s.Hq, s.Sq, s.T)).copy()
        kept = self.kept(s)
        return ok if kept is None else ok & kept

    def cap(self, s, x):
        c = s.work.type(s.softcap)
        return c * np.tanh(x / c)

    def capped(self, s, x):
        return self.cap(s, x) if s.softcap else x

    def alibi(self, s, p=None):
        """What distance costs, (B, Hq, Sq, T)."""
        p = s.p if p is None else p
        far = np.abs(p[:, None, :, None] - np.arange(s.T)[None, None, None]).astype(s.work)
        return s.slopes[None, :, None, None] * far

    def biased(self, s, x):
        if s.slopes is not None:
            x = x - self.alibi(s)
        if s.mask is not None and s.mask.dtype != bool:
            x = x + s.mask.astype(s.work)
        return x

    def logits(self, s):
        return self.biased(s, self.capped(s, s.scores))

    def largest(self, s):
        m = s.logits.max(-1, initial=-np.inf)
        return m if s.sink is None else np.maximum(m, s.sink[None, :, None])

    def denominator(self, s):
        total = s.e.sum(-1)
        return total if s.sink is None else total + np.exp(s.sink[None, :, None] - s.m)

    def softmax_of(self, s):
        m = self.largest(s)
        s.m = np.where(m == -np.inf, s.work.type(0), m)
        s.e = np.where(s.ok, np.exp(s.logits - s.m[..., None]), s.work.type(0))
        s.total = self.denominator(s)
        dead = s.total == 0
        s.weights = np.where(s.ok & ~dead[..., None], s.e / np.where(dead, 1, s.total)[..., None], 0)
        s.lse = s.m + np.log(s.total)

    def weigh(self, s):
        return weighed(s.weights, s.v, s.ok)

    def finish(self, s, out):
        return out

    # ---- the whole ------------------------------------------------------------------------------------------------
    def __call__(self, **given):
        s = SimpleNamespace(**given)
        for name in ("query", "key", "value", "mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks",
                     "alibi_slopes", "query_scale", "key_scale", "value_scale"):
            x = getattr(s, name)
            setattr(s, name, None if x is None else np.asarray(x))
        with np.errstate(all="ignore"):
            return self.compute(s)

    def prepare(self, s):
        self.check(s)
        s.P = 0 if s.past_key is None else s.past_key.shape[2]
        s.present_key = s.key.copy() if s.past_key is None else np.concatenate([s.past_key, s.key], 2)
        s.present_value = s.value.copy() if s.past_key is None else np.concatenate([s.past_value, s.value], 2)
        s.B, s.Hq, s.Sq, s.E = s.query.shape
        s.Hkv, s.Sk, s.T, s.Ev = s.key.shape[1], s.key.shape[2], s.present_key.shape[2], s.value.shape[3]
        self.check_mask(s)
        s.dtype = s.query.dtype
        if s.query.dtype in QUANTIZED:
            need(s.output_dtype is not None, "output_dtype beside a quantized query")
            s.dtype = named(s.output_dtype)
        for x, scale in ((s.query, s.query_scale), (s.key, s.key_scale), (s.value, s.value_scale)):
            need((x.dtype in QUANTIZED) == (scale is not None), "scales belong to quantized tensors")
        s.work = self.work_dtype(s.dtype)
        s.group = s.Hq // s.Hkv if s.Hkv else 1
        s.scale = s.work.type(1 / math.sqrt(s.E) if s.scale is None else s.scale)
        s.q = self.widened(s, s.query, s.query_scale, True)
        s.k = np.repeat(self.widened(s, s.present_key, s.key_scale), s.group, 1)
        s.v = np.repeat(self.widened(s, self.values(s, s.present_value), s.value_scale), s.group, 1)
        s.slopes = None if s.alibi_slopes is None else s.alibi_slopes.astype(s.work)
        s.sink = None if s.sinks is None else s.sinks.astype(s.work)
        s.L, s.N = self.lengths(s)
        s.p = np.arange(s.Sq)[None] + self.offsets(s)[:, None]

    def widened(self, s, x, scale, query=False):
        x = x.astype(s.work)
        if scale is None:
            return x
        scale = np.broadcast_to(np.asarray(scale).astype(s.work), (s.B, s.Hkv))
        return x * (np.repeat(scale, s.group, 1) if query else scale)[:, :, None, None]

    def compute(self, s):
        self.prepare(s)
        s.dots = s.q @ s.k.swapaxes(-1, -2)
        s.scores = s.dots * s.scale
        s.ok = self.allowed(s)
        s.raw = self.logits(s)
        s.logits = np.where(s.ok, s.raw, s.work.type(-np.inf))
        self.softmax_of(s)
        output = self.weigh(s)
        return self.finish(s, self.outputs(s, output))

    def outputs(self, s, output):
        beside = s.dtype if s.dtype in (np.float64, np.float32) else np.dtype(np.float32)
        out = {"output": output.astype(s.dtype)}
        for name, x in (("weights", s.weights), ("logsumexp", s.lse), ("scores", s.scores), ("logits", s.logits)):
            out[name] = x.astype(beside)
        out["present_key"], out["present_value"] = s.present_key, s.present_value
        if s.key.dtype in QUANTIZED:
            out["present_key"] = s.k[:, :: max(s.group, 1)].astype(s.dtype) if s.group else out.pop("present_key")
        if s.value.dtype in QUANTIZED:
            out["present_value"] = s.v[:, :: max(s.group, 1)].astype(s.dtype) if s.group else out.pop("present_value")
        return out


def weighed(weights, v, ok):
    """Sums of weighted values; what is excluded has no part in them, be it NaN."""
    if np.isfinite(v).all():
        return weights @ v
    bad = ~np.isfinite(v).all(-1)
    if not (bad[:, :, None] & ok).any():
        return weights @ np.where(np.isfinite(v), v, 0)
    return np.where(ok[..., None], weights[..., None] * v[:, :, None], 0).sum(-2, dtype=weights.dtype)


class Single(Attention):
    """Float32 inside for all but float64."""

    def work_dtype(self, dtype):
        return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def build(kind):
    run = kind()

    def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                     query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                     value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                     softcap=None, window=None, output_dtype=None):
        return run(query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
                   key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
                   query_scale=query_scale, key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                   causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                   output_dtype=output_dtype)

    return scaled_dot_product_attention


scaled_dot_product_attention = build(Attention)

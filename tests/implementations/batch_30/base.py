"""Right implementation of scaled_dot_product_attention, in steps that other files may replace one by one."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np

NAMES = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
DTYPES = ("float64", "float32", "bfloat16", "float16")
HALF = (NAMES["float16"], NAMES["bfloat16"])


def refuse(why):
    raise ValueError(why)


def mix(weights, value, allowed):
    """Sum of values times weights over the last axis of weights; what is not allowed has no effect, NaN included."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(value)
        if finite.all():
            return weights @ value
        out = weights @ np.where(finite, value, 0)
        bad = np.flatnonzero(~finite.all(axis=-1).reshape(-1, value.shape[-2]).all(axis=0))
        for j in bad:
            part = weights[..., :, j, None] * np.where(finite[..., None, j, :], 0, value[..., None, j, :])
            touched = allowed[..., :, j, None] & ~finite[..., None, j, :]
            out = np.where(touched, out + part, out)
        return out


def ranges(extent, tile):
    return [(start, min(start + tile, extent)) for start in range(0, extent, tile)]


class Sdpa:
    gives_weights = True
    gives_scores = True

    def run(self, arguments):
        c = SimpleNamespace(**arguments)
        self.check(c)
        self.prepare(c)
        self.place(c)
        self.exclude(c)
        with np.errstate(all="ignore"):
            self.score(c)
            self.bias(c)
            self.core(c)
        return self.finish(c)

    # 1 ---------------------------------------------------------------------------------------------------------
    def check(self, c):
        for name in ("query", "key", "value"):
            setattr(c, name, np.asarray(getattr(c, name)))
            if getattr(c, name).ndim != 4:
                refuse(f"{name} is not of rank 4")
        q, k, v = c.query, c.key, c.value
        c.B, c.Hq, c.Sq, c.E = q.shape
        c.Hkv, c.Sk, c.Ev = k.shape[1], k.shape[2], v.shape[3]
        if c.E == 0:
            refuse("no features")
        if k.shape[3] != c.E:
            refuse("widths of query and key")
        if k.shape[0] != c.B or v.shape[0] != c.B:
            refuse("batch sizes")
        if v.shape[1] != c.Hkv:
            refuse("heads of key and value")
        if (c.Hkv == 0 and c.Hq != 0) or (c.Hkv and c.Hq % c.Hkv):
            refuse("heads of query and key")
        if v.shape[2] != c.Sk:
            refuse("tokens of key and value")
        c.P = 0
        if (c.past_key is None) != (c.past_value is None):
            refuse("one past without the other")
        if c.past_key is not None:
            c.past_key, c.past_value = np.asarray(c.past_key), np.asarray(c.past_value)
            if c.past_key.ndim != 4 or c.past_value.ndim != 4:
                refuse("rank of the past")
            self.check_past(c)
            c.P = c.past_key.shape[2]
            if c.key_lengths is not None or c.query_lengths is not None:
                refuse("past and lengths")
        c.K = c.P + c.Sk
        for name, most in (("key_lengths", c.Sk), ("query_lengths", c.Sq)):
            given = getattr(c, name)
            if given is not None:
                given = np.asarray(given)
                if given.shape != (c.B,) or given.dtype.kind not in "iu":
                    refuse(f"{name} is not (B) whole numbers")
                given = given.astype(np.int64)
                if (given < 0).any() or (given > most).any():
                    refuse(f"{name} out of range")
                setattr(c, name, given)
        for name in ("sinks", "alibi_slopes"):
            given = getattr(c, name)
            if given is not None:
                setattr(c, name, np.asarray(given))
                if getattr(c, name).shape != (c.Hq,):
                    refuse(f"{name} is not (Hq)")
        if c.mask is not None:
            c.mask = np.asarray(c.mask)
            self.check_mask(c)
        for name in ("query_scale", "key_scale", "value_scale"):
            given = getattr(c, name)
            if given is not None:
                shape = np.asarray(given).shape
                if len(shape) > 2 or any(a not in (1, b) for a, b in zip(shape[::-1], (c.Hkv, c.B))):
                    refuse(f"shape of {name}")
        if c.causal_alignment not in ("top_left", "bottom_right"):
            refuse("causal_alignment")
        if c.softcap is not None and not c.softcap >= 0:
            refuse("softcap")
        if c.window is not None and len(c.window) != 2:
            refuse("window")

    def check_past(self, c):
        pk, pv = c.past_key.shape, c.past_value.shape
        if pk[3] != c.E:
            refuse("width of past keys")
        if pv[3] != c.Ev:
            refuse("width of past values")
        if pk[0] != c.B or pv[0] != c.B:
            refuse("batch size of the past")
        if pk[1] != c.Hkv or pv[1] != c.Hkv:
            refuse("heads of the past")
        if pk[2] != pv[2]:
            refuse("tokens of the past")

    def check_mask(self, c):
        if c.mask.dtype.kind in "iu":
            refuse("a mask of integers")
        shape = c.mask.shape
        if not 2 <= len(shape) <= 4 or shape[-1] != c.K:
            refuse("shape of the mask")
        if any(a not in (1, b) for a, b in zip(shape[::-1], (c.K, c.Sq, c.Hq, c.B))):
            refuse("shape of the mask")

    # 2 to 4, 6 -------------------------------------------------------------------------------------------------
    def prepare(self, c):
        c.keys, c.values = c.key, c.value
        if c.past_key is not None:
            c.keys = np.concatenate([c.past_key, c.key.astype(c.past_key.dtype, copy=False)], axis=2)
            c.values = np.concatenate([c.past_value, c.value.astype(c.past_value.dtype, copy=False)], axis=2)
        c.dtype = NAMES[c.output_dtype] if c.output_dtype is not None else c.query.dtype
        c.acc = np.dtype(np.float64 if c.dtype == np.float64 else np.float32)
        c.group = c.Hq // c.Hkv if c.Hkv else 1
        c.head_of = np.arange(c.Hq) // c.group
        c.q, c.k, c.v = c.query.astype(c.acc), c.keys.astype(c.acc), c.values.astype(c.acc)
        with np.errstate(all="ignore"):
            if c.query_scale is not None:
                c.q = c.q * self.factor(c, c.query_scale)[:, c.head_of]
            if c.key_scale is not None:
                c.k = c.k * self.factor(c, c.key_scale)
            if c.value_scale is not None:
                c.v = c.v * self.factor(c, c.value_scale)
        c.kh, c.vh = c.k[:, c.head_of], c.v[:, c.head_of]
        c.sink = None if c.sinks is None else c.sinks.astype(c.acc)[None, :, None]
        c.slope = None if c.alibi_slopes is None else c.alibi_slopes.astype(c.acc)[None, :, None, None]

    def factor(self, c, scale):
        return np.broadcast_to(np.asarray(scale).astype(c.acc), (c.B, c.Hkv))[:, :, None, None]

    # 5 ---------------------------------------------------------------------------------------------------------
    def place(self, c):
        c.L = np.full(c.B, c.K, np.int64) if c.key_lengths is None else c.key_lengths
        c.N = np.full(c.B, c.Sq, np.int64) if c.query_lengths is None else c.query_lengths
        c.offset = self.offsets(c)
        c.p = c.offset[:, None] + np.arange(c.Sq)  # (B, Sq)
        c.j = np.arange(c.K)

    def offsets(self, c):
        return c.L - c.N if c.causal_alignment == "bottom_right" else np.full(c.B, c.P, np.int64)

    # 12, as truth values ---------------------------------------------------------------------------------------
    def by_length(self, c):
        return (c.j < c.L[:, None])[:, None, None, :]

    def by_position(self, c):
        p, j = c.p[:, None, :, None], c.j
        allowed = np.ones((c.B, 1, c.Sq, c.K), bool)
        if c.is_causal:
            allowed &= j <= p
        if c.window is not None:
            allowed &= self.by_window(c, p, j)
        return allowed

    def by_window(self, c, p, j):
        left, right = c.window
        allowed = np.ones((c.B, 1, c.Sq, c.K), bool)
        if left is not None:
            allowed &= j >= p - int(left)
        if right is not None:
            allowed &= j <= p + int(right)
        return allowed

    def by_mask(self, c):
        if c.mask is None:
            return np.ones((1, 1, 1, 1), bool)
        mask = self.placed_mask(c)
        return mask if mask.dtype == bool else ~(mask.astype(c.acc) == -np.inf)

    def placed_mask(self, c):
        return c.mask.reshape((1,) * (4 - c.mask.ndim) + c.mask.shape)

    def by_row(self, c):
        return (np.arange(c.Sq) < c.N[:, None])[:, None, :, None]

    def exclude(self, c):
        allowed = self.by_length(c) & self.by_position(c) & self.by_mask(c) & self.by_row(c)
        c.allowed = np.broadcast_to(allowed, (c.B, c.Hq, c.Sq, c.K))

    # 7 to 12 ---------------------------------------------------------------------------------------------------
    def factor_of_scores(self, c):
        return c.acc.type(1 / np.sqrt(c.E) if c.scale is None else c.scale)

    def products(self, c):
        return c.q @ c.kh.swapaxes(-1, -2)

    def score(self, c):
        c.dots = self.products(c)
        c.scores = c.dots * self.factor_of_scores(c)

    def cap(self, c, scores):
        if not c.softcap:
            return scores
        cap = c.acc.type(c.softcap)
        return cap * np.tanh(scores / cap)

    def distance(self, c):
        return np.abs(c.p[:, None, :, None] - c.j).astype(c.acc)

    def bias(self, c):
        logits = self.cap(c, c.scores)
        if c.slope is not None:
            logits = logits - c.slope * self.distance(c)
        if c.mask is not None and c.mask.dtype != bool:
            logits = logits + self.placed_mask(c).astype(c.acc)
        c.logits = np.where(c.allowed, logits, c.acc.type(-np.inf))

    # 13 to 15 --------------------------------------------------------------------------------------------------
    def core(self, c):
        largest = self.largest(c)
        powers = np.where(c.allowed, np.exp(c.logits - largest[..., None]), c.acc.type(0))
        total = powers.sum(axis=-1, dtype=c.acc)
        if c.sink is not None:
            total = total + np.exp(c.sink - largest)
        empty = total == 0
        c.weights = powers / np.where(empty, 1, total)[..., None]
        c.lse = np.where(empty, -np.inf, largest + np.log(total)).astype(c.acc)
        c.out = mix(c.weights, c.vh, c.allowed)

    def largest(self, c):
        largest = c.logits.max(axis=-1, initial=-np.inf)
        if c.sink is not None:
            largest = np.maximum(largest, c.sink)
        return np.where(largest == -np.inf, 0, largest).astype(c.acc)

    # 16 --------------------------------------------------------------------------------------------------------
    def finish(self, c):
        with np.errstate(all="ignore"):
            outputs = {"output": c.out.astype(c.dtype), "logsumexp": c.lse}
        if self.gives_weights and hasattr(c, "weights"):
            outputs["weights"] = c.weights
        if self.gives_scores:
            outputs["scores"], outputs["logits"] = c.scores, c.logits
        if c.key_scale is None and c.value_scale is None and c.query_scale is None:
            outputs["present_key"], outputs["present_value"] = c.keys.copy(), c.values.copy()
        return outputs


class Tiled(Sdpa):
    """Online softmax over tiles of queries and keys; gives output and logsumexp."""

    gives_weights = gives_scores = False
    rows, columns = 16, 16

    def core(self, c):
        c.out = np.zeros((c.B, c.Hq, c.Sq, c.Ev), c.acc)
        c.lse = np.full((c.B, c.Hq, c.Sq), -np.inf, c.acc)
        for b in range(c.B):
            for first, end in ranges(c.Sq, self.rows):
                self.tile_of_queries(c, b, first, end)

    def tiles(self, c, b, first, end):
        return ranges(c.K, self.columns)

    def tile_of_queries(self, c, b, first, end):
        m = np.full((c.Hq, end - first), -np.inf, c.acc)
        total = np.zeros_like(m)
        out = np.zeros((c.Hq, end - first, c.Ev), c.acc)
        for start, stop in self.tiles(c, b, first, end):
            s = c.logits[b, :, first:end, start:stop]
            ok = c.allowed[b, :, first:end, start:stop]
            m, total, out = self.step(m, total, out, s, ok, c.vh[b, :, start:stop])
        self.close(c, b, first, end, m, total, out)

    def step(self, m, total, out, s, ok, v):
        new = np.maximum(m, s.max(axis=-1, initial=-np.inf))
        safe = np.where(new == -np.inf, 0, new).astype(m.dtype)
        p = np.where(ok, np.exp(s - safe[..., None]), 0).astype(m.dtype)
        alpha = np.where(m == -np.inf, 0, np.exp(m - safe)).astype(m.dtype)
        return new, total * alpha + p.sum(axis=-1, dtype=m.dtype), out * alpha[..., None] + mix(p, v, ok)

    def close(self, c, b, first, end, m, total, out):
        safe = np.where(m == -np.inf, 0, m).astype(c.acc)
        if c.sink is not None:
            sink = np.broadcast_to(c.sink[0], m.shape)
            top = np.where(m == -np.inf, sink, np.maximum(m, sink)).astype(c.acc)
            alpha = np.where(m == -np.inf, 0, np.exp(safe - top)).astype(c.acc)
            total, out, safe = total * alpha + np.exp(sink - top), out * alpha[..., None], top
        empty = total == 0
        c.out[b, :, first:end] = out / np.where(empty, 1, total)[..., None]
        c.lse[b, :, first:end] = np.where(empty, -np.inf, safe + np.log(total))


def operation(kind):
    implementation = kind()

    def scaled_dot_product_attention(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
        sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        arguments = dict(locals())
        arguments.pop("implementation", None)
        return implementation.run(arguments)

    return scaled_dot_product_attention


scaled_dot_product_attention = operation(Sdpa)

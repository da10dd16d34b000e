"""Scaled dot-product attention after the page, in steps that other files can replace one by one."""

import inspect
from types import SimpleNamespace

import ml_dtypes
import numpy as np

QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")
FLOATS = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def is_float(dtype):
    return np.dtype(dtype).name in FLOATS or np.dtype(dtype).name in QUANTIZED[:2]


def weigh(weights, value, allowed):
    """weights (..., S, K) times value (..., K, Ev); what is not allowed has no effect, be it NaN."""
    if np.isfinite(value).all():
        return weights @ value
    product = weights[..., :, :, None] * value[..., None, :, :]
    return np.where(allowed[..., None], product, 0).sum(axis=-2, dtype=weights.dtype)


class Attention:
    narrow = np.float64  # what all but float64 are carried in

    # ---- step 1

    def check(self, s):
        q, k, v = s.query, s.key, s.value
        refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "query, key and value have rank 4")
        refuse(q.shape[3] != k.shape[3], "query and key differ in features")
        refuse(q.shape[3] == 0, "queries without features")
        refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch sizes differ")
        refuse(k.shape[1] != v.shape[1], "key and value differ in heads")
        refuse(q.shape[1] % k.shape[1] != 0 if k.shape[1] else q.shape[1] != 0, "query heads are no multiple of key heads")
        refuse(k.shape[2] != v.shape[2], "key and value differ in tokens")
        s.B, s.Hq, s.Sq, s.E = q.shape
        s.Hkv, s.Sk, s.Ev = k.shape[1], k.shape[2], v.shape[3]
        s.group = s.Hq // s.Hkv if s.Hkv else 1
        s.P = 0
        refuse((s.past_key is None) != (s.past_value is None), "past keys and values come together")
        if s.past_key is not None:
            self.check_past(s)
            s.P = s.past_key.shape[2]
            refuse(s.key_lengths is not None or s.query_lengths is not None, "a past beside lengths")
        s.total = s.P + s.Sk
        for lengths, most in ((s.key_lengths, s.Sk), (s.query_lengths, s.Sq)):
            if lengths is not None:
                refuse(lengths.shape != (s.B,), "lengths for another number of batch entries")
                refuse(bool((lengths < 0).any() or (lengths > most).any()), "a length out of range")
        for vector in (s.sinks, s.alibi_slopes):
            refuse(vector is not None and vector.shape != (s.Hq,), "one number for each query head")
        if s.mask is not None:
            refuse(s.mask.dtype != bool and not is_float(s.mask.dtype), "a mask is Boolean or float")
            self.check_mask(s)
        for tensor, scale in ((q, s.query_scale), (k, s.key_scale), (v, s.value_scale)):
            refuse((tensor.dtype.name in QUANTIZED) != (scale is not None), "scales belong to quantized tensors")
            if scale is not None:
                refuse(scale.ndim > 2, "a scale has at most two axes")
                np.broadcast_to(scale, (s.B, s.Hkv))
        refuse(s.causal_alignment not in ("top_left", "bottom_right"), "no such alignment")
        refuse(s.softcap is not None and s.softcap < 0, "a negative softcap")
        if s.window is not None:
            refuse(len(s.window) != 2, "a window has two sides")
            s.left, s.right = (None if side is None else int(side) for side in s.window)
        else:
            s.left = s.right = None

    def check_past(self, s):
        pk, pv = s.past_key, s.past_value
        refuse(pk.ndim != 4 or pv.ndim != 4, "a past has rank 4")
        refuse(pk.shape[0] != s.B or pv.shape[0] != s.B, "batch size of the past")
        refuse(pk.shape[1] != s.Hkv or pv.shape[1] != s.Hkv, "heads of the past")
        refuse(pk.shape[3] != s.E or pv.shape[3] != s.Ev, "features of the past")
        refuse(pk.shape[2] != pv.shape[2], "tokens of the past")

    def check_mask(self, s):
        refuse(not 2 <= s.mask.ndim <= 4, "a mask has rank 2 to 4")
        refuse(s.mask.shape[-1] != s.total, "last axis of the mask")
        s.mask = np.broadcast_to(s.mask, (s.B, s.Hq, s.Sq, s.total))

    # ---- steps 2 to 6

    def widen(self, s):
        s.dtype = s.query.dtype
        if s.dtype.name in QUANTIZED:
            s.dtype = FLOATS[np.dtype(s.output_dtype or "float32").name]
        s.work = np.dtype(np.float64 if s.dtype == np.float64 else self.narrow)
        s.present_key, s.present_value = s.key, s.value
        if s.past_key is not None:
            s.present_key = np.concatenate((s.past_key.astype(s.key.dtype), s.key), axis=2)
            s.present_value = np.concatenate((s.past_value.astype(s.value.dtype), s.value), axis=2)
        s.q = s.query.astype(s.work)
        s.k = s.present_key.astype(s.work)
        s.v = s.present_value.astype(s.work)

        def scaled(tensor, scale):
            return tensor if scale is None else tensor * np.broadcast_to(scale, (s.B, s.Hkv)).astype(s.work)[:, :, None, None]

        s.k, s.v = scaled(s.k, s.key_scale), scaled(s.v, s.value_scale)
        if s.key_scale is not None:
            s.present_key = s.k.astype(s.dtype)
        if s.value_scale is not None:
            s.present_value = s.v.astype(s.dtype)
        if s.query_scale is not None:
            factor = np.broadcast_to(s.query_scale, (s.B, s.Hkv)).astype(s.work)
            s.q = s.q * np.repeat(factor, s.group, axis=1)[:, :, None, None]
        s.k = np.repeat(s.k, s.group, axis=1)
        s.v = np.repeat(s.v, s.group, axis=1)
        s.factor = s.work.type(1 / np.sqrt(np.float64(s.E)) if s.scale is None else s.scale)
        s.cap = s.work.type(s.softcap) if s.softcap else None
        s.sink = None if s.sinks is None else s.sinks.astype(s.work)
        s.slope = None if s.alibi_slopes is None else s.alibi_slopes.astype(s.work)

    def place(self, s):
        """Keys and queries that count (B), and where queries stand (B, Sq)."""
        s.L = np.full(s.B, s.total) if s.key_lengths is None else s.key_lengths.astype(np.int64)
        s.N = np.full(s.B, s.Sq) if s.query_lengths is None else s.query_lengths.astype(np.int64)
        s.offset = self.offsets(s).astype(np.int64)
        s.p = s.offset[:, None] + np.arange(s.Sq)

    def offsets(self, s):
        return np.full(s.B, s.P) if s.causal_alignment == "top_left" else s.L - s.N

    # ---- exclusions

    def by_position(self, s):
        """What causality, window and lengths allow: (B, 1, Sq, total)."""
        j, p = np.arange(s.total), s.p[:, :, None]
        allowed = np.broadcast_to(j < s.L[:, None, None], (s.B, s.Sq, s.total)).copy()
        if s.is_causal:
            allowed &= j <= p
        if s.left is not None:
            allowed &= p - j <= s.left
        if s.right is not None:
            allowed &= j - p <= s.right
        return allowed[:, None]

    def allow(self, s):
        s.allowed = np.broadcast_to(self.by_position(s), (s.B, s.Hq, s.Sq, s.total))
        if s.mask is not None:
            s.allowed = s.allowed & (s.mask if s.mask.dtype == bool else s.mask.astype(s.work) != -np.inf)

    # ---- scores and logits

    def score(self, s):
        s.scores = (s.q @ s.k.swapaxes(-1, -2)) * s.factor

    def capped(self, s):
        return s.scores if s.cap is None else s.cap * np.tanh(s.scores / s.cap)

    def distance(self, s):
        return np.abs(s.p[:, :, None] - np.arange(s.total)).astype(s.work)[:, None]

    def bias(self, s):
        return s.slope[:, None, None] * self.distance(s)

    def logit(self, s):
        logits = self.capped(s)
        if s.slope is not None:
            logits = logits - self.bias(s)
        if s.mask is not None and s.mask.dtype != bool:
            logits = logits + s.mask.astype(s.work)
        s.logits = np.where(s.allowed, logits, s.work.type(-np.inf))

    # ---- softmax and values

    def attend(self, s):
        dead = ~s.allowed.any(axis=-1)
        largest = s.logits.max(axis=-1, initial=-np.inf)
        if s.sink is not None:
            largest = np.maximum(largest, s.sink[:, None])
        shift = np.where(largest == -np.inf, 0, largest)
        powers = np.where(s.allowed, np.exp(s.logits - shift[..., None]), 0)
        total = powers.sum(axis=-1)
        if s.sink is not None:
            total = total + np.exp(s.sink[:, None] - shift)
        s.weights = np.where(s.allowed, powers / np.where(dead, 1, total)[..., None], 0)
        s.logsumexp = shift + np.log(total)
        lone = -np.inf if s.sink is None else s.sink[:, None]
        s.logsumexp = np.where(dead, lone, s.logsumexp)
        s.output = np.where(dead[..., None], 0, weigh(s.weights, s.v, s.allowed))

    # ---- all of it

    def finish(self, s):
        wide = s.dtype if s.dtype in (np.float64, np.float32) else np.dtype(np.float32)
        found = {
            "output": s.output.astype(s.dtype),
            "present_key": np.array(s.present_key.astype(s.dtype)),
            "present_value": np.array(s.present_value.astype(s.dtype)),
        }
        for name in ("weights", "logsumexp", "scores", "logits"):
            if getattr(s, name, None) is not None:
                found[name] = np.array(getattr(s, name).astype(wide))
        return found

    def run(self, s):
        self.check(s)
        self.widen(s)
        self.place(s)
        self.allow(s)
        self.score(s)
        self.logit(s)
        self.attend(s)
        return self.finish(s)


class Kernel(Attention):
    """A fused kernel: tiles, a running maximum, float32; gives output and logsumexp."""

    narrow = np.float32
    rows = columns = 16

    def query_tiles(self, s):
        """Rows of each tile, and the numbers of the queries whose positions they have."""
        for start in range(0, s.Sq, self.rows):
            rows = np.arange(start, min(start + self.rows, s.Sq))
            yield rows, rows

    def key_blocks(self, s, b, p):
        """From which key tile to which, for queries at the positions p."""
        first, last = 0, -(-int(s.L[b]) // self.columns)
        if s.is_causal:
            last = min(last, int(p[-1]) // self.columns + 1)
        if s.right is not None:
            last = min(last, (int(p[-1]) + s.right) // self.columns + 1)
        if s.left is not None:
            first = max(first, (int(p[0]) - s.left) // self.columns)
        return first, last

    def tile_allowed(self, s, b, rows, p, lo, hi):
        j = np.arange(lo, hi)
        allowed = np.broadcast_to(j < s.L[b], (len(p), hi - lo))
        if s.is_causal:
            allowed = allowed & (j <= p[:, None])
        if s.left is not None:
            allowed = allowed & (p[:, None] - j <= s.left)
        if s.right is not None:
            allowed = allowed & (j - p[:, None] <= s.right)
        allowed = np.broadcast_to(allowed, (s.Hq, len(p), hi - lo))
        if s.mask is not None:
            part = s.mask[b, :, rows[0] : rows[-1] + 1, lo:hi]
            allowed = allowed & (part if part.dtype == bool else part.astype(s.work) != -np.inf)
        return allowed

    def tile_logits(self, s, b, rows, p, lo, hi, allowed):
        x = (s.q[b][:, rows] @ s.k[b, :, lo:hi].swapaxes(-1, -2)) * s.factor
        if s.cap is not None:
            x = s.cap * np.tanh(x / s.cap)
        if s.slope is not None:
            x = x - s.slope[:, None, None] * np.abs(p[:, None] - np.arange(lo, hi)).astype(s.work)
        if s.mask is not None and s.mask.dtype != bool:
            x = x + s.mask[b, :, rows[0] : rows[-1] + 1, lo:hi].astype(s.work)
        return np.where(allowed, x, s.work.type(-np.inf))

    def skip(self, s, allowed):
        return not allowed.any()

    def start(self, s, count):
        """The running maximum, sum and accumulator before the first key."""
        m = np.full((s.Hq, count), -np.inf, s.work)
        l = np.zeros((s.Hq, count), s.work)
        if s.sink is not None:
            m[:] = s.sink[:, None]
            l[:] = np.where(m == -np.inf, 0, 1)
        return m, l, np.zeros((s.Hq, count, s.Ev), s.work)

    def tile_max(self, x):
        return x.max(axis=-1)

    def fold(self, s, state, x, value, allowed):
        m, l, acc = state
        new = np.maximum(m, self.tile_max(x))
        shift = np.where(new == -np.inf, 0, new)
        powers = np.exp(x - shift[..., None])
        decay = np.exp(m - shift)
        return new, l * decay + powers.sum(axis=-1), acc * decay[..., None] + weigh(powers, value, allowed)

    def attend(self, s):
        s.output = np.zeros((s.B, s.Hq, s.Sq, s.Ev), s.work)
        s.logsumexp = np.full((s.B, s.Hq, s.Sq), -np.inf, s.work)
        for b in range(s.B):
            for rows, numbers in self.query_tiles(s):
                p = s.offset[b] + numbers
                state = self.start(s, len(rows))
                alive = np.zeros((s.Hq, len(rows)), bool)
                first, last = self.key_blocks(s, b, p)
                for lo in range(first * self.columns, last * self.columns, self.columns):
                    hi = min(lo + self.columns, s.total)
                    allowed = self.tile_allowed(s, b, rows, p, lo, hi)
                    if self.skip(s, allowed):
                        continue
                    alive |= allowed.any(axis=-1)
                    x = self.tile_logits(s, b, rows, p, lo, hi, allowed)
                    state = self.fold(s, state, x, s.v[b, :, lo:hi], allowed)
                output, logsumexp = self.close(s, state, alive)
                s.output[b][:, rows] = output
                s.logsumexp[b][:, rows] = logsumexp

    def close(self, s, state, alive):
        m, l, acc = state
        output = np.where(alive[..., None], acc / np.where(alive, l, 1)[..., None], 0)
        lone = -np.inf if s.sink is None else s.sink[:, None]
        return output, np.where(alive, np.where(m == -np.inf, 0, m) + np.log(l), lone)

    def run(self, s):
        self.check(s)
        self.widen(s)
        self.place(s)
        self.attend(s)
        return self.finish(s)


class Split(Attention):
    """Split-K: parts of the keys are attended on their own, and merged."""

    narrow = np.float32
    part = 16

    def attend_part(self, s, lo, hi):
        """Largest logit, sum and weighted values of a part."""
        x, allowed = s.logits[..., lo:hi], s.allowed[..., lo:hi]
        m = x.max(axis=-1)
        shift = np.where(m == -np.inf, 0, m)
        powers = np.where(allowed, np.exp(x - shift[..., None]), 0)
        return m, powers.sum(axis=-1), weigh(powers, s.v[:, :, lo:hi], allowed)

    def attend(self, s):
        parts = [self.attend_part(s, lo, min(lo + self.part, s.total)) for lo in range(0, s.total, self.part)]
        self.merge(s, parts)

    def merge(self, s, parts):
        shape = (s.B, s.Hq, s.Sq)
        dead = ~s.allowed.any(axis=-1)
        m = np.full(shape, -np.inf, s.work)
        for part in parts:
            m = np.maximum(m, part[0])
        if s.sink is not None:
            m = np.maximum(m, s.sink[:, None])
        shift = np.where(m == -np.inf, 0, m)
        l, acc = np.zeros(shape, s.work), np.zeros((*shape, s.Ev), s.work)
        for part in parts:
            decay = np.where(part[0] == -np.inf, 0, np.exp(part[0] - shift))
            l = l + part[1] * decay
            acc = acc + part[2] * decay[..., None]
        if s.sink is not None:
            l = l + np.exp(s.sink[:, None] - shift)
        s.output = np.where(dead[..., None], 0, acc / np.where(dead, 1, l)[..., None])
        s.logsumexp = np.where(dead, -np.inf if s.sink is None else s.sink[:, None], shift + np.log(l))


def operation(kind):
    """The function of the page, computed by the steps of a class."""
    steps = kind()

    def scaled_dot_product_attention(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
        sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        tensors = dict(
            query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
            key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
            query_scale=query_scale, key_scale=key_scale, value_scale=value_scale,
        )  # fmt: skip
        s = SimpleNamespace(**{name: None if x is None else np.asarray(x) for name, x in tensors.items()})
        s.is_causal, s.causal_alignment, s.scale = bool(is_causal), causal_alignment, scale
        s.softcap, s.window, s.output_dtype = softcap, window, output_dtype
        with np.errstate(all="ignore"):
            return steps.run(s)

    return scaled_dot_product_attention


scaled_dot_product_attention = operation(Attention)
NAMES = tuple(inspect.signature(scaled_dot_product_attention).parameters)

"""Right implementations after the pages, in steps that other files may replace one by one."""

import ml_dtypes
import numpy as np

QUANTIZED = (np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(np.int8))
FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
INFINITY = np.inf


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def is_float(dtype):
    return dtype in FLOATS


class Attention:
    """One call. Each method is a step of the page."""

    def __init__(self, arguments):
        self.__dict__.update(arguments)

    def run(self):
        with np.errstate(all="ignore"):
            self.check()
            self.prepend()
            self.widen()
            self.place()
            self.exclude()
            self.score()
            self.bias()
            self.attend()
            return self.finish()

    # 1

    def check(self):
        self.query, self.key, self.value = (np.asarray(a) for a in (self.query, self.key, self.value))
        for array in (self.query, self.key, self.value):
            refuse(array.ndim != 4, "rank")
        self.B, self.Hq, self.Sq, self.E = self.query.shape
        _, self.Hkv, self.Sk, width = self.key.shape
        self.Ev = self.value.shape[3]
        refuse(self.E == 0, "no features")
        refuse(width != self.E, "width")
        refuse(self.key.shape[0] != self.B or self.value.shape[0] != self.B, "batch")
        refuse(self.value.shape[1] != self.Hkv, "heads of key and value")
        refuse(self.Hkv == 0 and self.Hq != 0 or self.Hkv != 0 and self.Hq % self.Hkv != 0, "grouped")
        refuse(self.Hkv != 0 and self.Hq == 0, "no query heads")
        refuse(self.value.shape[2] != self.Sk, "length")
        self.rep = self.Hq // self.Hkv if self.Hkv else 1

        refuse((self.past_key is None) != (self.past_value is None), "half a past")
        self.P = 0
        if self.past_key is not None:
            refuse(self.key_lengths is not None or self.query_lengths is not None, "past and lengths")
            self.past_key, self.past_value = np.asarray(self.past_key), np.asarray(self.past_value)
            refuse(self.past_key.ndim != 4 or self.past_value.ndim != 4, "rank of the past")
            refuse(self.past_key.shape[0] != self.B or self.past_value.shape[0] != self.B, "batch of the past")
            refuse(self.past_key.shape[1] != self.Hkv or self.past_value.shape[1] != self.Hkv, "heads of the past")
            refuse(self.past_key.shape[2] != self.past_value.shape[2], "length of the past")
            refuse(self.past_key.shape[3] != self.E or self.past_value.shape[3] != self.Ev, "width of the past")
            refuse(self.past_key.dtype != self.key.dtype or self.past_value.dtype != self.value.dtype, "dtype of the past")
            self.P = self.past_key.shape[2]
        self.T = self.P + self.Sk

        for name, most in (("key_lengths", self.Sk), ("query_lengths", self.Sq)):
            lengths = getattr(self, name)
            if lengths is not None:
                lengths = np.asarray(lengths)
                refuse(lengths.shape != (self.B,), name)
                lengths = lengths.astype(np.int64)
                refuse(bool((lengths < 0).any() or (lengths > most).any()), name)
                setattr(self, name, lengths)
        for name in ("sinks", "alibi_slopes"):
            array = getattr(self, name)
            if array is not None:
                array = np.asarray(array)
                refuse(array.shape != (self.Hq,), name)
                setattr(self, name, array)

        self.read_mask()
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
        refuse(self.softcap is not None and self.softcap < 0, "softcap")

        for tensor, name in ((self.query, "query_scale"), (self.key, "key_scale"), (self.value, "value_scale")):
            factor = getattr(self, name)
            refuse((factor is not None) != (tensor.dtype in QUANTIZED), name)
            refuse(tensor.dtype not in QUANTIZED and not is_float(tensor.dtype), "dtype")
            if factor is not None:
                factor = np.asarray(factor)
                refuse(factor.ndim > 2, name)
                for axis, extent in zip(factor.shape[::-1], (self.Hkv, self.B)):
                    refuse(axis not in (1, extent), name)
                setattr(self, name, np.broadcast_to(factor, (self.B, self.Hkv)))
        if self.query.dtype in QUANTIZED:
            refuse(self.output_dtype is None, "output_dtype")
            self.result = np.dtype(self.output_dtype)
        else:
            self.result = self.query.dtype

    def read_mask(self):
        """Makes of the mask an array of rank 4, or None."""
        if self.mask is None:
            return
        mask = np.asarray(self.mask)
        refuse(mask.dtype != bool and not is_float(mask.dtype), "a mask of integers")
        refuse(not 2 <= mask.ndim <= 4, "rank of the mask")
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        for axis, extent in zip(mask.shape[:3], (self.B, self.Hq, self.Sq)):
            refuse(axis not in (1, extent), "mask")
        refuse(mask.shape[3] != self.T, "keys of the mask")
        self.mask = mask

    # 2

    def prepend(self):
        if self.past_key is None:
            self.present_key, self.present_value = self.key.copy(), self.value.copy()
        else:
            self.present_key = np.concatenate((self.past_key, self.key), axis=2)
            self.present_value = np.concatenate((self.past_value, self.value), axis=2)

    # 3, 4, 6

    def working(self):
        return np.dtype(np.float64)

    def shared(self):
        """The key head that each query head reads."""
        return np.arange(self.Hq) // self.rep

    def widen(self):
        self.work = self.working()
        q, k, v = (a.astype(self.work) for a in (self.query, self.present_key, self.present_value))
        heads = self.shared()
        if self.key_scale is not None:
            k = k * self.key_scale.astype(self.work)[:, :, None, None]
            self.present_key = k.astype(self.result)
        if self.value_scale is not None:
            v = v * self.value_scale.astype(self.work)[:, :, None, None]
            self.present_value = v.astype(self.result)
        if self.query_scale is not None:
            q = q * self.query_scale.astype(self.work)[:, heads, None, None]
        self.q, self.k, self.v = q, k[:, heads], v[:, heads]
        if self.sinks is not None:
            self.sinks = self.sinks.astype(self.work)
        if self.alibi_slopes is not None:
            self.alibi_slopes = self.alibi_slopes.astype(self.work)
        if self.mask is not None and self.mask.dtype != bool:
            self.not_excluded = self.mask != -INFINITY  # before numbers are narrowed
            self.mask = self.mask.astype(self.work)
        self.factor = self.work.type(1 / np.sqrt(self.E) if self.scale is None else self.scale)

    # 5

    def place(self):
        """The position of each query, (B, 1, Sq), and the keys that count, (B)."""
        self.L = np.full(self.B, self.T) if self.key_lengths is None else self.key_lengths
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths
        first = np.full(self.B, self.P) if self.causal_alignment == "top_left" else self.L - self.N
        self.position = first[:, None, None] + np.arange(self.Sq)

    # 12

    def by_position(self):
        """What causality and window leave, (B, 1 or Hq, Sq, T)."""
        p, j = self.position[..., None], np.arange(self.T)
        left, right = (None, None) if self.window is None else self.window
        allowed = np.ones(np.broadcast_shapes(p.shape, j.shape), bool)
        if self.is_causal:
            allowed &= j <= p
        if left is not None:
            allowed &= j >= p - int(left)
        if right is not None:
            allowed &= j <= p + int(right)
        return allowed

    def by_length(self):
        return np.arange(self.T) < self.L[:, None, None, None]

    def by_mask(self):
        if self.mask is None:
            return np.ones((1, 1, 1, self.T), bool)
        return self.mask if self.mask.dtype == bool else self.not_excluded

    def exclude(self):
        shape = (self.B, self.Hq, self.Sq, self.T)
        self.allowed = np.broadcast_to(self.by_position() & self.by_length() & self.by_mask(), shape)

    # 7, 8

    def dots(self):
        return self.q @ self.k.swapaxes(-1, -2)

    def score(self):
        self.scores = self.dots() * self.factor

    # 9, 10, 11, 12

    def tanh(self, x):
        return np.tanh(x)

    def cap(self, scores):
        return self.softcap * self.tanh(scores / self.softcap) if self.softcap else scores

    def distance(self):
        """(B, 1 or Hq, Sq, T)"""
        return np.abs(self.position[..., None] - np.arange(self.T)).astype(self.work)

    def bias(self):
        logits = self.cap(self.scores)
        if self.alibi_slopes is not None:
            logits = logits - self.alibi_slopes[:, None, None] * self.distance()
        if self.mask is not None and self.mask.dtype != bool:
            logits = logits + self.mask
        self.logits = np.where(self.allowed, logits, -INFINITY)

    # 13, 14, 15

    def attend(self):
        self.soften()
        self.weigh()

    def sink_column(self):
        return self.sinks[:, None]

    def maximum(self):
        largest = self.logits.max(axis=-1, initial=-INFINITY)
        return largest if self.sinks is None else np.maximum(largest, self.sink_column())

    def soften(self):
        largest = self.maximum()
        shift = np.where(largest == -INFINITY, 0, largest).astype(self.work)
        self.shift = shift
        self.parts = np.where(self.allowed, np.exp(self.logits - shift[..., None]), 0)
        total = self.parts.sum(axis=-1)
        if self.sinks is not None:
            total = total + np.exp(self.sink_column() - shift)
        self.total = total
        self.weights = np.where(self.allowed, self.parts / np.where(total == 0, 1, total)[..., None], 0)
        self.logsumexp = np.where(total == 0, -INFINITY, shift + np.log(total))

    def weighted(self, weights, values, allowed):
        """Sums of values, of which excluded ones have no part, be they NaN."""
        finite = np.isfinite(values)
        sums = weights @ np.where(finite, values, 0)
        if not finite.all():
            for b, h, j in sorted({tuple(place[:3]) for place in np.argwhere(~finite).tolist()}):
                odd = ~finite[b, h, j]
                product = weights[b, h, :, j, None] * np.where(odd, values[b, h, j], 0)
                sums[b, h] += np.where(allowed[b, h, :, j, None] & odd, product, 0)
        return sums

    def weigh(self):
        self.output = self.weighted(self.weights, self.v, self.allowed)

    # 16

    def finish(self):
        side = self.result if self.result.itemsize >= 4 else np.dtype(np.float32)
        return {
            "output": self.output.astype(self.result),
            "weights": self.weights.astype(side),
            "logsumexp": self.logsumexp.astype(side),
            "scores": self.scores.astype(side),
            "logits": self.logits.astype(side),
            "present_key": self.present_key,
            "present_value": self.present_value,
        }


class Tiled(Attention):
    """An online softmax over tiles of keys."""

    tile = 32

    def start(self):
        shape = (self.B, self.Hq, self.Sq)
        if self.sinks is None:
            return np.full(shape, -INFINITY, self.work), np.zeros(shape, self.work)
        largest = np.broadcast_to(self.sink_column(), shape).astype(self.work)
        return largest, np.where(largest == -INFINITY, 0, 1).astype(self.work)

    def rescale(self, sums, alpha):
        return sums * alpha[..., None]

    def safe(self, largest):
        return np.where(largest == -INFINITY, 0, largest).astype(self.work)

    def one_tile(self, state, begin, end):
        largest, total, sums = state
        logits, allowed = self.logits[..., begin:end], self.allowed[..., begin:end]
        new = np.maximum(largest, logits.max(axis=-1))
        shift = self.safe(new)
        alpha = np.exp(largest - shift)
        parts = np.where(allowed, np.exp(logits - shift[..., None]), 0)
        self.note(parts, begin, end)
        total = total * alpha + parts.sum(axis=-1)
        sums = self.rescale(sums, alpha) + self.weighted(parts, self.v[:, :, begin:end], allowed)
        return new, total, sums

    def note(self, parts, begin, end):
        pass

    def attend(self):
        largest, total = self.start()
        state = largest, total, np.zeros((self.B, self.Hq, self.Sq, self.Ev), self.work)
        for begin in range(0, self.T, self.tile):
            state = self.one_tile(state, begin, min(begin + self.tile, self.T))
        self.end(state)

    def end(self, state):
        largest, total, sums = state
        divisor = np.where(total == 0, 1, total)
        shift = np.where(largest == -INFINITY, 0, largest)
        self.output = sums / divisor[..., None]
        self.weights = np.where(self.allowed, np.exp(self.logits - shift[..., None]) / divisor[..., None], 0)
        self.logsumexp = np.where(total == 0, -INFINITY, shift + np.log(total))


class Narrow:
    """Float32 inside, but for float64."""

    def working(self):
        return np.dtype(np.float64 if self.result == np.float64 else np.float32)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Attention(locals()).run()

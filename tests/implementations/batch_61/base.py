"""Right implementations after the pages, in steps that other files use."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np

QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")
DTYPES = ("float64", "float32", "bfloat16", "float16")


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def quantized(array):
    return array.dtype.name in QUANTIZED


def is_integer(array):
    return array.dtype.kind in "iu"


def whole(array):
    return np.array(array, dtype=np.int64)


class Attention:
    """The dense operation, one method a step."""

    def run(self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
            sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None, **extra):
        s = SimpleNamespace(
            query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
            key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
            query_scale=query_scale, key_scale=key_scale, value_scale=value_scale, is_causal=bool(is_causal),
            causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
            output_dtype=output_dtype, **extra)
        with np.errstate(all="ignore"):
            self.check(s)
            self.prepend(s)
            self.types(s)
            self.widen(s)
            self.place(s)
            self.allow(s)
            self.score(s)
            self.bias(s)
            self.softmax(s)
            self.weigh(s)
            return self.give(s)

    # 1. check
    def check(self, s):
        for name in ("query", "key", "value", "past_key", "past_value"):
            array = getattr(s, name)
            refuse(array is not None and array.ndim != 4, f"{name} must have rank 4")
        s.B, s.Hq, s.Sq, s.E = s.query.shape
        s.Hkv, s.Sk = s.key.shape[1:3]
        s.Ev = s.value.shape[3]
        refuse(s.E == 0, "no features")
        refuse(s.key.shape[3] != s.E, "width of key")
        refuse(s.key.shape[0] != s.B or s.value.shape[0] != s.B, "batch")
        refuse(s.value.shape[1] != s.Hkv, "heads of key and value")
        refuse(s.Hq % s.Hkv != 0 if s.Hkv else s.Hq != 0, "query heads are no multiple")
        s.G = s.Hq // s.Hkv if s.Hkv else 1
        refuse((s.past_key is None) != (s.past_value is None), "past key and past value belong together")
        s.P = 0
        if s.past_key is not None:
            s.P = s.past_key.shape[2]
            for past, new in ((s.past_key, s.key), (s.past_value, s.value)):
                refuse(past.shape[0] != s.B, "batch of the past")
                refuse(past.shape[1] != s.Hkv, "heads of the past")
                refuse(past.shape[3] != new.shape[3], "width of the past")
                refuse(past.dtype != new.dtype, "dtype of the past")
            refuse(s.key_lengths is not None or s.query_lengths is not None, "past and lengths together")
        self.check_tokens(s)
        s.K = s.P + s.Sk
        for name, most in (("key_lengths", s.Sk), ("query_lengths", s.Sq)):
            lengths = getattr(s, name)
            if lengths is not None:
                lengths = np.asarray(lengths)
                refuse(lengths.shape != (s.B,), name)
                refuse(bool((lengths < 0).any()) or bool((lengths > most).any()), f"{name} out of range")
        for name in ("sinks", "alibi_slopes"):
            array = getattr(s, name)
            refuse(array is not None and np.shape(array) != (s.Hq,), name)
        self.check_mask(s)
        for name in ("query", "key", "value"):
            self.check_scale(s, name)
        refuse(s.causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
        refuse(s.softcap is not None and s.softcap < 0, "softcap")
        if s.window is not None:
            refuse(len(s.window) != 2 or any(side is not None and side < 0 for side in s.window), "window")

    def check_tokens(self, s):
        refuse(s.value.shape[2] != s.Sk, "tokens of key and value")
        refuse(s.past_key is not None and s.past_value.shape[2] != s.P, "tokens of the past")

    def check_mask(self, s):
        if s.mask is None:
            return
        refuse(not 2 <= s.mask.ndim <= 4, "rank of the mask")
        refuse(is_integer(s.mask), "a mask of integers")
        full = (s.B, s.Hq, s.Sq, s.K)
        refuse(s.mask.shape[-1] != s.K, "columns of the mask")
        for have, want in zip(s.mask.shape[::-1], full[::-1]):
            refuse(have not in (1, want), "mask does not broadcast")

    def check_scale(self, s, name):
        array, scale = getattr(s, name), getattr(s, name + "_scale")
        refuse(quantized(array) and scale is None, f"{name} without its scale")
        refuse(not quantized(array) and scale is not None, f"{name}_scale beside {array.dtype}")
        if scale is not None:
            shape = np.shape(scale)
            refuse(len(shape) > 2, f"rank of {name}_scale")
            for have, want in zip(shape[::-1], (s.Hkv, s.B)):
                refuse(have not in (1, want), f"shape of {name}_scale")

    # 2. past
    def prepend(self, s):
        s.all_key, s.all_value = s.key, s.value
        if s.past_key is not None:
            s.all_key = np.concatenate([s.past_key, s.key], axis=2)
            s.all_value = np.concatenate([s.past_value, s.value], axis=2)

    # 3., 4. types and scales
    def types(self, s):
        if quantized(s.query):
            s.out = dtype_of(s.output_dtype) if s.output_dtype is not None else np.dtype(np.float32)
        else:
            s.out = s.query.dtype
        s.work = np.dtype(np.float64) if s.out == np.float64 else np.dtype(np.float32)

    def spread(self, s, scale):
        """A scale as (B, Hkv)."""
        return np.broadcast_to(np.asarray(scale).astype(s.work), (s.B, s.Hkv))

    def numbers(self, s, array):
        return array.astype(s.work)

    def times(self, s, array, scale):
        """Quantized key heads, multiplied."""
        return self.numbers(s, array) * self.spread(s, scale)[:, :, None, None]

    def widen(self, s):
        s.k = self.times(s, s.all_key, s.key_scale) if quantized(s.all_key) else s.all_key.astype(s.work)
        s.v = self.times(s, s.all_value, s.value_scale) if quantized(s.all_value) else s.all_value.astype(s.work)
        if quantized(s.query):
            per_head = np.repeat(self.spread(s, s.query_scale), s.G, axis=1)
            s.q = self.numbers(s, s.query) * per_head[:, :, None, None]
        else:
            s.q = s.query.astype(s.work)

    # 5. positions
    def place(self, s):
        s.L = np.full(s.B, s.K) if s.key_lengths is None else whole(s.key_lengths)
        s.N = np.full(s.B, s.Sq) if s.query_lengths is None else whole(s.query_lengths)
        s.first = np.full(s.B, s.P) if s.causal_alignment == "top_left" else s.L - s.N
        s.p = (s.first[:, None] + np.arange(s.Sq))[:, None, :]  # (B, 1, Sq)

    # 12. exclusions
    def positional(self, s):
        j = np.arange(s.K)
        p = s.p[..., None]
        allowed = np.ones(p.shape[:-1] + (s.K,), dtype=bool)
        if s.is_causal:
            allowed &= j <= p
        if s.window is not None:
            left, right = s.window
            if left is not None:
                allowed &= j >= p - left
            if right is not None:
                allowed &= j <= p + right
        return allowed

    def counted(self, s):
        return (np.arange(s.K) < s.L[:, None])[:, None, None, :]

    def allow(self, s):
        full = (s.B, s.Hq, s.Sq, s.K)
        allowed = self.positional(s) & self.counted(s)
        if s.mask is not None:
            allowed = allowed & (s.mask if s.mask.dtype == bool else s.mask.astype(s.work) != -np.inf)
        s.allowed = np.array(np.broadcast_to(allowed, full))

    # 6. to 8. scores
    def factor(self, s):
        return s.work.type(1 / np.sqrt(s.E) if s.scale is None else s.scale)

    def heads(self, s):
        s.kh = np.repeat(s.k, s.G, axis=1)
        s.vh = np.repeat(s.v, s.G, axis=1)

    def score(self, s):
        self.heads(s)
        s.dots = s.q @ s.kh.swapaxes(-1, -2)
        s.scores = s.dots * self.factor(s)

    # 9. to 12. logits
    def cap(self, s, x):
        if s.softcap:
            c = s.work.type(s.softcap)
            return c * np.tanh(x / c)
        return x

    def add_biases(self, s, x):
        if s.alibi_slopes is not None:
            distance = np.abs(self.alibi_positions(s)[..., None] - np.arange(s.K)).astype(s.work)
            x = x - np.asarray(s.alibi_slopes).astype(s.work)[None, :, None, None] * distance
        if s.mask is not None and s.mask.dtype != bool:
            x = x + s.mask.astype(s.work)
        return x

    def alibi_positions(self, s):
        return s.p

    def bias(self, s):
        s.logits = np.where(s.allowed, self.add_biases(s, self.cap(s, s.scores)), s.work.type(-np.inf))

    # 13., 14. softmax
    def sink_column(self, s):
        return np.asarray(s.sinks).astype(s.work)[None, :, None, None]

    def maximum(self, s):
        m = s.logits.max(axis=-1, keepdims=True, initial=-np.inf)
        if s.sinks is not None:
            m = np.maximum(m, self.sink_column(s))
        return np.where(m == -np.inf, s.work.type(0), m)

    def softmax(self, s):
        s.m = self.maximum(s)
        s.e = np.where(s.allowed, np.exp(s.logits - s.m), s.work.type(0))
        s.total = self.sum(s)
        if s.sinks is not None:
            s.total = s.total + np.exp(self.sink_column(s) - s.m)
        s.weights = np.where(s.allowed & (s.total != 0), s.e / s.total, s.work.type(0))
        s.logsumexp = (np.log(s.total) + s.m)[..., 0]

    def sum(self, s):
        return s.e.sum(axis=-1, keepdims=True)

    # 15. values
    def weigh(self, s):
        s.output = average(s.weights, s.vh, s.allowed)

    # 16. outputs
    def present(self, s):
        if quantized(s.all_key) or quantized(s.all_value):
            return s.k.astype(s.out), s.v.astype(s.out)
        return np.array(s.all_key.astype(s.out)), np.array(s.all_value.astype(s.out))

    def give(self, s):
        present_key, present_value = self.present(s)
        return {"output": s.output.astype(s.out), "weights": s.weights, "logsumexp": s.logsumexp, "scores": s.scores,
                "logits": s.logits, "present_key": present_key, "present_value": present_value}


def average(weights, values, allowed):
    """Sums of weighted values; what is excluded has no effect, be it NaN."""
    if np.isfinite(values).all():
        return weights @ values
    rows = []
    for i in range(weights.shape[2]):
        terms = np.where(allowed[:, :, i, :, None], weights[:, :, i, :, None] * values, values.dtype.type(0))
        rows.append(terms.sum(axis=2))
    if not rows:
        return weights @ np.zeros_like(values)
    return np.stack(rows, axis=2)


# Layouts of serving


def columns(mask, number):
    if mask is None:
        return None
    refuse(mask.shape[-1] < number, "columns of the mask")
    mask = mask[..., :number]
    return mask if mask.ndim >= 2 else mask[None]


def sequence(core, query, key, value, mask, rest):
    """One sequence: query (N, Hq, E), key and value (L, Hkv, E); gives (N, Hq, Ev) and (N, Hq)."""
    one = core.run(*(x.swapaxes(0, 1)[None] for x in (query, key, value)), mask=columns(mask, key.shape[0]), **rest)
    return one["output"][0].swapaxes(0, 1), one["logsumexp"][0].swapaxes(0, 1)


def work_of(query):
    return np.float64 if query.dtype == np.float64 else np.float32


def check_packed(query, key, value, query_starts, key_starts):
    refuse(any(x.ndim != 3 for x in (query, key, value)), "rank")
    query_starts, key_starts = whole(query_starts), whole(key_starts)
    refuse(query_starts.ndim != 1 or query_starts.shape != key_starts.shape or query_starts.size < 1, "starts")
    refuse(query.shape[2] != key.shape[2], "width")
    refuse(key.shape[0] != value.shape[0], "tokens of key and value")
    refuse(key.shape[1] != value.shape[1], "heads of key and value")
    refuse(query.shape[1] % key.shape[1] != 0 if key.shape[1] else query.shape[1] != 0, "heads")
    for starts, tokens in ((query_starts, len(query)), (key_starts, len(key))):
        refuse(starts[0] != 0 or starts[-1] != tokens or (np.diff(starts) < 0).any(), "starts")
    return query_starts, key_starts


def packed(core, query, key, value, query_starts, key_starts, mask=None, **rest):
    query_starts, key_starts = check_packed(query, key, value, query_starts, key_starts)
    output = np.zeros((len(query), query.shape[1], value.shape[2]), dtype=query.dtype)
    logsumexp = np.zeros((len(query), query.shape[1]), dtype=work_of(query))
    for b in range(len(query_starts) - 1):
        rows, keys = slice(*query_starts[b:b + 2]), slice(*key_starts[b:b + 2])
        output[rows], logsumexp[rows] = sequence(core, query[rows], key[keys], value[keys], mask, rest)
    return {"output": output, "logsumexp": logsumexp}


def check_paged(query, key_pool, value_pool, heads_first, query_lengths):
    refuse(any(x.ndim != 4 for x in (query, key_pool, value_pool)), "rank")
    if heads_first:
        key_pool, value_pool = key_pool.swapaxes(1, 2), value_pool.swapaxes(1, 2)
    refuse(key_pool.shape[:2] != value_pool.shape[:2], "pages or page size of key and value")
    refuse(key_pool.shape[2] != value_pool.shape[2], "heads of key and value")
    refuse(key_pool.shape[3] != query.shape[3], "width")
    heads = key_pool.shape[2]
    refuse(query.shape[1] % heads != 0 if heads else query.shape[1] != 0, "heads")
    B, _, Sq, _ = query.shape
    lengths = np.full(B, Sq) if query_lengths is None else whole(query_lengths)
    refuse(lengths.shape != (B,) or (lengths < 0).any() or (lengths > Sq).any(), "query_lengths")
    return key_pool, value_pool, lengths


def from_pages(core, query, key_pool, value_pool, pages, key_lengths, query_lengths, mask, rest):
    """Pools with tokens first; pages is a list of arrays, one for each sequence."""
    B, Hq, Sq, _ = query.shape
    size, heads = key_pool.shape[1:3]
    output = np.zeros((B, Hq, Sq, value_pool.shape[3]), dtype=query.dtype)
    logsumexp = np.full((B, Hq, Sq), -np.inf, dtype=work_of(query))
    for b in range(B):
        N, L = int(query_lengths[b]), int(key_lengths[b])
        key = key_pool[pages[b]].reshape(-1, heads, key_pool.shape[3])[:L]
        value = value_pool[pages[b]].reshape(-1, heads, value_pool.shape[3])[:L]
        out, lse = sequence(core, query[b].swapaxes(0, 1)[:N], key, value, mask, rest)
        output[b, :, :N], logsumexp[b, :, :N] = out.swapaxes(0, 1), lse.swapaxes(0, 1)
    return {"output": output, "logsumexp": logsumexp}


def check_table(query, block_table, key_lengths, size):
    table, lengths = whole(block_table), whole(key_lengths)
    refuse(table.ndim != 2 or len(table) != len(query), "block_table")
    refuse(lengths.shape != (len(query),), "key_lengths")
    refuse((lengths < 0).any() or (lengths > table.shape[1] * size).any(), "key_lengths out of range")
    return table, lengths


def paged(core, query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
          heads_first=False, **rest):
    key_pool, value_pool, counts = check_paged(query, key_pool, value_pool, heads_first, query_lengths)
    size = key_pool.shape[1]
    table, lengths = check_table(query, block_table, key_lengths, size)
    pages = [table[b, : -(-int(lengths[b]) // size)] for b in range(len(query))]
    return from_pages(core, query, key_pool, value_pool, pages, lengths, counts, mask, rest)


def check_list(query, page_starts, page_indices, last_page_length, size):
    starts, indices, last = whole(page_starts), whole(page_indices), whole(last_page_length)
    refuse(starts.shape != (len(query) + 1,) or last.shape != (len(query),), "page_starts")
    refuse(starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > len(indices), "page_starts")
    used = np.diff(starts) > 0
    refuse(bool(((last < 1) | (last > size))[used].any()), "last_page_length")
    return starts, indices, last


def paged_csr(core, query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
              mask=None, heads_first=False, **rest):
    key_pool, value_pool, counts = check_paged(query, key_pool, value_pool, heads_first, query_lengths)
    size = key_pool.shape[1]
    starts, indices, last = check_list(query, page_starts, page_indices, last_page_length, size)
    pages = [indices[starts[b]:starts[b + 1]] for b in range(len(query))]
    lengths = [(len(pages[b]) - 1) * size + int(last[b]) if len(pages[b]) else 0 for b in range(len(query))]
    return from_pages(core, query, key_pool, value_pool, pages, lengths, counts, mask, rest)


def dense(**arguments):
    return Attention().run(**arguments)

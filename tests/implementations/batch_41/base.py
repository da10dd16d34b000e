"""Right implementations of scaled dot-product attention after the pages, in steps that other files may replace."""

import math

import ml_dtypes
import numpy as np

FLOAT8 = (np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2))
QUANTIZED = (*FLOAT8, np.dtype(np.int8))
DTYPES = ("float64", "float32", "bfloat16", "float16")


def named(name):
    """The dtype of a name, those of ml_dtypes included."""
    return np.dtype(getattr(ml_dtypes, name)) if isinstance(name, str) and hasattr(ml_dtypes, name) else np.dtype(name)


def refuse(condition, text):
    """Raise an error where the condition holds."""
    if condition:
        raise ValueError(text)


def whole(array):
    return np.issubdtype(np.asarray(array).dtype, np.integer)


class Attention:
    """One call: the arguments are attributes, each step is a method."""

    optional = (
        "mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks", "alibi_slopes", "query_scale",
        "key_scale", "value_scale", "scale", "softcap", "window", "output_dtype",
    )

    def __init__(self, **given):
        for name in self.optional:
            setattr(self, name, None)
        self.is_causal, self.causal_alignment = False, "top_left"
        for name, what in given.items():
            setattr(self, name, what)

    def run(self):
        with np.errstate(all="ignore"):
            self.arrays()
            self.check()
            self.measure()
            self.prepend()
            self.dequantize()
            self.place()
            self.share()
            self.score()
            self.cap()
            self.bias()
            self.add_mask()
            self.exclude()
            self.attend()
            return self.results()

    # 1

    def arrays(self):
        for name in ("query", "key", "value"):
            setattr(self, name, np.asarray(getattr(self, name)))
        for name in self.optional[:10]:
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name)))

    def check(self):
        self.check_ranks()
        self.check_batch()
        self.check_heads()
        self.check_tokens()
        self.check_lengths()
        self.check_mask()
        self.check_rest()
        self.check_scales()

    def check_ranks(self):
        for name in ("query", "key", "value", "past_key", "past_value"):
            tensor = getattr(self, name)
            refuse(tensor is not None and tensor.ndim != 4, f"{name} must have rank 4")
        refuse((self.past_key is None) != (self.past_value is None), "past keys and values come together")
        refuse(self.query.shape[3] != self.key.shape[3], "query and key differ in features")
        refuse(self.query.shape[3] == 0, "no features")
        if self.past_key is not None:
            refuse(self.past_key.shape[3] != self.key.shape[3], "past keys differ in features")
            refuse(self.past_value.shape[3] != self.value.shape[3], "past values differ in features")
            refuse(self.key_lengths is not None or self.query_lengths is not None, "past and lengths together")

    def check_batch(self):
        for name in ("key", "value", "past_key", "past_value"):
            tensor = getattr(self, name)
            refuse(tensor is not None and tensor.shape[0] != self.query.shape[0], f"{name} has another batch")

    def check_heads(self):
        heads, shared = self.query.shape[1], self.key.shape[1]
        refuse(heads % shared != 0 if shared else heads != 0, "query heads are no multiple of key heads")
        for name in ("value", "past_key", "past_value"):
            tensor = getattr(self, name)
            refuse(tensor is not None and tensor.shape[1] != shared, f"{name} has other heads")

    def check_tokens(self):
        refuse(self.key.shape[2] != self.value.shape[2], "keys and values differ in tokens")
        if self.past_key is not None:
            refuse(self.past_key.shape[2] != self.past_value.shape[2], "past keys and values differ in tokens")

    def check_lengths(self):
        for name, most in (("key_lengths", self.key.shape[2]), ("query_lengths", self.query.shape[2])):
            lengths = getattr(self, name)
            if lengths is not None:
                refuse(lengths.shape != (self.query.shape[0],), f"{name} must be (B)")
                refuse(lengths.size and not whole(lengths), f"{name} must be whole numbers")
                refuse(bool((lengths < 0).any() or (lengths > most).any()), f"{name} out of range")

    def check_mask(self):
        if self.mask is not None:
            keys = self.key.shape[2] + (0 if self.past_key is None else self.past_key.shape[2])
            full = (self.query.shape[0], self.query.shape[1], self.query.shape[2], keys)
            refuse(not 2 <= self.mask.ndim <= 4, "mask must have rank 2 to 4")
            refuse(self.mask.shape[-1] != keys, "mask has another number of keys")
            refuse(any(m not in (1, f) for m, f in zip(self.mask.shape[::-1], full[::-1])), "mask does not broadcast")
            refuse(np.issubdtype(self.mask.dtype, np.integer), "mask of integers")

    def check_rest(self):
        for name in ("sinks", "alibi_slopes"):
            given = getattr(self, name)
            refuse(given is not None and given.shape != (self.query.shape[1],), f"{name} must be (Hq)")
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "unknown alignment")
        refuse(self.softcap is not None and self.softcap < 0, "negative softcap")
        refuse(self.window is not None and len(self.window) != 2, "a window has two sides")

    def check_scales(self):
        full = (self.query.shape[0], self.key.shape[1])
        for name in ("query_scale", "key_scale", "value_scale"):
            scale = getattr(self, name)
            if scale is not None:
                refuse(scale.ndim > 2, f"{name} has too many axes")
                refuse(any(s not in (1, f) for s, f in zip(scale.shape[::-1], full[::-1])), f"{name} does not fit")

    def measure(self):
        self.B, self.Hq, self.Sq, self.E = self.query.shape
        self.Hkv, self.Sk = self.key.shape[1:3]
        self.Ev = self.value.shape[3]
        self.P = 0 if self.past_key is None else self.past_key.shape[2]
        self.K = self.P + self.Sk
        self.group = self.Hq // self.Hkv if self.Hkv else 1
        if self.output_dtype is not None:
            self.dtype = named(self.output_dtype)
        else:
            self.dtype = np.dtype(np.float32) if self.query.dtype in QUANTIZED else self.query.dtype
        self.wide = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)
        self.work = np.dtype(np.float64)
        self.L = np.full(self.B, self.K) if self.key_lengths is None else self.key_lengths.astype(np.int64)
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths.astype(np.int64)

    # 2

    def prepend(self):
        self.keys, self.values = self.key, self.value
        if self.past_key is not None:
            self.keys = np.concatenate([self.past_key, self.key], axis=2)
            self.values = np.concatenate([self.past_value, self.value], axis=2)

    # 3 and 4

    def of_heads(self, scale):
        """A scale as (B, Hkv, 1, 1)."""
        return np.broadcast_to(scale, (self.B, self.Hkv))[:, :, None, None].astype(self.work)

    def number(self, tensor):
        return tensor.astype(self.work)

    def dequantize(self):
        self.q, self.k, self.v = self.number(self.query), self.number(self.keys), self.number(self.values)
        if self.query_scale is not None:
            self.q = self.q * np.repeat(self.of_heads(self.query_scale), self.group, axis=1)
        if self.key_scale is not None:
            self.k = self.k * self.of_heads(self.key_scale)
        if self.value_scale is not None:
            self.v = self.v * self.of_heads(self.value_scale)

    # 5

    def first(self):
        """The position of the first query of each batch entry, (B)."""
        return np.full(self.B, self.P) if self.causal_alignment == "top_left" else self.L - self.N

    def place(self):
        self.p = self.first()[:, None, None, None] + np.arange(self.Sq)[:, None]
        self.j = np.arange(self.K)

    # 6

    def share(self):
        self.k = np.repeat(self.k, self.group, axis=1)[:, : self.Hq]
        self.v = np.repeat(self.v, self.group, axis=1)[:, : self.Hq]

    # 7 to 11

    def factor(self):
        return self.work.type(1 / math.sqrt(self.E) if self.scale is None else self.scale)

    def score(self):
        self.scores = (self.q @ self.k.swapaxes(-1, -2)) * self.factor()
        self.logits = self.scores

    def cap(self):
        if self.softcap:
            cap = self.work.type(self.softcap)
            self.logits = cap * np.tanh(self.logits / cap)

    def distance(self):
        return np.abs(self.p - self.j)

    def bias(self):
        if self.alibi_slopes is not None:
            slopes = self.alibi_slopes.astype(self.work)[:, None, None]
            self.logits = self.logits - slopes * self.distance().astype(self.work)

    def add_mask(self):
        if self.mask is not None and self.mask.dtype != bool:
            self.logits = self.logits + self.mask.astype(self.work)

    # 12

    def by_length(self):
        return self.j < self.L[:, None, None, None]

    def by_causality(self):
        return self.j <= self.p

    def by_window(self):
        left, right = self.window
        allowed = np.ones(np.broadcast_shapes(self.p.shape, self.j.shape), bool)
        if left is not None:
            allowed &= self.j >= self.p - left
        if right is not None:
            allowed &= self.j <= self.p + right
        return allowed

    def by_mask(self):
        return self.mask if self.mask.dtype == bool else ~np.isneginf(self.mask.astype(np.float64))

    def may(self):
        allowed = np.ones((self.B, self.Hq, self.Sq, self.K), bool)
        allowed &= self.by_length()
        if self.is_causal:
            allowed &= self.by_causality()
        if self.window is not None:
            allowed &= self.by_window()
        if self.mask is not None:
            allowed &= self.by_mask()
        return allowed

    def exclude(self):
        self.allowed = self.may()
        self.logits = np.where(self.allowed, self.logits, self.work.type(-np.inf))

    # 13 to 15

    def sink(self):
        """The sinks as (Hq, 1, 1); minus infinity adds nothing."""
        given = np.full(self.Hq, -np.inf) if self.sinks is None else self.sinks
        return given.astype(self.work)[:, None, None]

    def attend(self):
        sink = self.sink()
        top = np.maximum(self.logits.max(axis=-1, keepdims=True, initial=-np.inf), sink)
        top = np.where(np.isneginf(top), self.work.type(0), top)
        powers = np.where(self.allowed, np.exp(self.logits - top), self.work.type(0))
        total = powers.sum(axis=-1, keepdims=True) + np.exp(sink - top)
        shares = powers / np.where(total == 0, self.work.type(1), total)
        self.weights = np.where(self.allowed, shares, self.work.type(0))
        self.logsumexp = (np.log(total) + top)[..., 0]
        self.output = self.weigh(self.weights, self.v, self.allowed)

    def weigh(self, weights, values, allowed):
        if np.isfinite(values).all():
            return weights @ values
        output = np.zeros((*weights.shape[:3], values.shape[3]), self.work)
        for b in range(self.B):
            for h in range(self.Hq):
                product = weights[b, h][:, :, None] * values[b, h][None]
                output[b, h] = np.where(allowed[b, h][:, :, None], product, 0).sum(axis=1)
        return output

    # 16

    def present(self):
        if self.key_scale is None and self.value_scale is None:
            return self.keys.copy(), self.values.copy()
        k, v = self.number(self.keys), self.number(self.values)
        k = k if self.key_scale is None else k * self.of_heads(self.key_scale)
        v = v if self.value_scale is None else v * self.of_heads(self.value_scale)
        return k.astype(self.dtype), v.astype(self.dtype)

    def results(self):
        counts = np.arange(self.Sq)[:, None] < self.N[:, None, None, None]
        output = np.where(counts, self.output, 0)
        given = {"output": output.astype(self.dtype)}
        for name in ("weights", "logsumexp", "scores", "logits"):
            given[name] = np.broadcast_to(getattr(self, name), self.shape_of(name)).astype(self.wide)
        given["present_key"], given["present_value"] = self.present()
        return given

    def shape_of(self, name):
        return (self.B, self.Hq, self.Sq) if name == "logsumexp" else (self.B, self.Hq, self.Sq, self.K)


class Split(Attention):
    """Decoding in parts: one query against many keys is weighed chunk by chunk, and the parts are merged."""

    chunk = 16

    def attend(self):
        super().attend()
        if self.Sq == 1 and self.K > self.chunk:
            self.merge([self.part(slice(at, min(at + self.chunk, self.K))) for at in range(0, self.K, self.chunk)])

    def part(self, span):
        """The greatest logit, the sum of powers and the values times powers, not divided, of some keys."""
        logits, allowed = self.logits[..., span], self.allowed[..., span]
        top = logits.max(axis=-1, keepdims=True)
        top = np.where(np.isneginf(top), self.work.type(0), top)
        powers = np.where(allowed, np.exp(logits - top), self.work.type(0))
        top = np.where(powers.any(axis=-1, keepdims=True), top, self.work.type(-np.inf))
        return top, powers.sum(axis=-1, keepdims=True), self.weigh(powers, self.v[:, :, span], allowed)

    def merge(self, parts):
        sink = self.sink()
        top = sink
        for part in parts:
            top = np.maximum(top, part[0])
        top = np.where(np.isneginf(top), self.work.type(0), top)
        total = np.exp(sink - top)
        output = self.work.type(0)
        for own, powers, values in parts:
            share = np.exp(own - top)
            total = total + share * powers
            output = output + np.where(np.isneginf(own), self.work.type(0), share * values)
        self.output = output / np.where(total == 0, self.work.type(1), total)
        self.logsumexp = (np.log(total) + top)[..., 0]


def bhse(kind=Attention):
    """The operation in the layout of the page."""

    def scaled_dot_product_attention(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
        alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        return kind(
            query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
            key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
            query_scale=query_scale, key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
            causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window, output_dtype=output_dtype,
        ).run()

    return scaled_dot_product_attention


def columns(mask, count):
    """A sequence has the first columns of a mask."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    refuse(mask.ndim < 2 or mask.shape[-1] < count, "mask has too few columns")
    refuse(mask.shape[-2] != 1, "a mask has no axis of queries here")
    refuse(mask.ndim == 4 and mask.shape[0] != 1, "a mask has no axis of batch entries here")
    return mask[..., :count]


class Packed:
    """Sequences behind one another; `one` computes one of them from (1, H, S, E)."""

    kind = Attention

    def __init__(self, **given):
        for name, what in given.items():
            setattr(self, name, what)

    def check(self):
        self.query, self.key, self.value = (np.asarray(a) for a in (self.query, self.key, self.value))
        self.query_starts, self.key_starts = np.asarray(self.query_starts), np.asarray(self.key_starts)
        refuse(any(a.ndim != 3 for a in (self.query, self.key, self.value)), "tokens, heads, features")
        refuse(self.key.shape[0] != self.value.shape[0], "keys and values differ in tokens")
        refuse(self.query.shape[2] != self.key.shape[2], "query and key differ in features")
        heads, shared = self.query.shape[1], self.key.shape[1]
        refuse(shared != self.value.shape[1], "keys and values differ in heads")
        refuse(heads % shared != 0 if shared else heads != 0, "query heads are no multiple of key heads")
        refuse(self.query_starts.shape != self.key_starts.shape or self.query_starts.ndim != 1, "starts differ")
        for starts, tokens in ((self.query_starts, self.query), (self.key_starts, self.key)):
            refuse(starts.size < 1 or not whole(starts), "starts must be whole numbers")
            refuse(starts[0] != 0 or starts[-1] != tokens.shape[0], "starts begin at 0 and end at the last token")
            refuse(bool((np.diff(starts.astype(np.int64)) < 0).any()), "starts must rise")

    def spans(self):
        """For each sequence, the numbers of its queries and of its keys."""
        q, k = self.query_starts.astype(np.int64), self.key_starts.astype(np.int64)
        return [(np.arange(q[b], q[b + 1]), np.arange(k[b], k[b + 1])) for b in range(len(q) - 1)]

    def one(self, rows, cols):
        heads_first = [a.swapaxes(0, 1)[None] for a in (self.query[rows], self.key[cols], self.value[cols])]
        return self.kind(
            query=heads_first[0], key=heads_first[1], value=heads_first[2], mask=columns(self.mask, len(cols)),
            sinks=self.sinks, alibi_slopes=self.alibi_slopes, is_causal=self.is_causal,
            causal_alignment=self.causal_alignment, scale=self.scale, softcap=self.softcap, window=self.window,
        )

    def run(self):
        self.check()
        tokens, heads = self.query.shape[:2]
        output = np.zeros((tokens, heads, self.value.shape[2]), self.query.dtype)
        logsumexp = np.full((tokens, heads), -np.inf, np.float64 if output.dtype == np.float64 else np.float32)
        for rows, cols in self.spans():
            given = self.one(rows, cols).run()
            output[rows] = given["output"][0].swapaxes(0, 1)
            logsumexp[rows] = given["logsumexp"][0].T
        return {"output": output, "logsumexp": logsumexp}


def packed(kind=Packed):
    """The operation in the layout `packed`."""

    def scaled_dot_product_attention(
        query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):
        return kind(
            query=query, key=key, value=value, query_starts=query_starts, key_starts=key_starts, mask=mask,
            sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
            scale=scale, softcap=softcap, window=window,
        ).run()

    return scaled_dot_product_attention


class Paged:
    """Keys and values in pages. Pools are held tokens first, whatever the layout."""

    kind = Attention
    heads_first = False
    block_table = page_starts = None

    def __init__(self, **given):
        for name, what in given.items():
            setattr(self, name, what)

    def check(self):
        self.query, self.key_pool, self.value_pool = (
            np.asarray(a) for a in (self.query, self.key_pool, self.value_pool)
        )
        refuse(any(a.ndim != 4 for a in (self.query, self.key_pool, self.value_pool)), "rank 4 is owed")
        if self.heads_first:
            self.key_pool, self.value_pool = self.key_pool.swapaxes(1, 2), self.value_pool.swapaxes(1, 2)
        refuse(self.key_pool.shape[:3] != self.value_pool.shape[:3], "pools differ")
        refuse(self.query.shape[3] != self.key_pool.shape[3], "query and key differ in features")
        self.B, self.Hq, self.Sq = self.query.shape[:3]
        self.size, self.Hkv = self.key_pool.shape[1:3]
        refuse(self.Hq % self.Hkv != 0 if self.Hkv else self.Hq != 0, "query heads are no multiple of key heads")
        if self.query_lengths is not None:
            self.query_lengths = np.asarray(self.query_lengths)
            refuse(self.query_lengths.shape != (self.B,), "query_lengths must be (B)")
            refuse(bool(((self.query_lengths < 0) | (self.query_lengths > self.Sq)).any()), "query_lengths")
        if self.block_table is not None:
            self.block_table, self.key_lengths = np.asarray(self.block_table), np.asarray(self.key_lengths)
            refuse(self.block_table.ndim != 2 or self.block_table.shape[0] != self.B, "table for another batch")
            refuse(self.key_lengths.shape != (self.B,), "key_lengths must be (B)")
            most = self.block_table.shape[1] * self.size
            refuse(bool(((self.key_lengths < 0) | (self.key_lengths > most)).any()), "key_lengths out of range")
        else:
            self.page_starts, self.page_indices, self.last_page_length = (
                np.asarray(a) for a in (self.page_starts, self.page_indices, self.last_page_length)
            )
            refuse(self.page_starts.shape != (self.B + 1,), "page_starts must be (B + 1)")
            refuse(self.last_page_length.shape != (self.B,), "last_page_length must be (B)")
            refuse(bool((np.diff(self.page_starts.astype(np.int64)) < 0).any()), "page_starts must rise")

    def pages(self, b):
        """The pages of a sequence and the number of its keys."""
        if self.block_table is not None:
            length = int(self.key_lengths[b])
            return self.block_table[b, : -(-length // self.size)].astype(np.int64), length
        pages = self.page_indices[int(self.page_starts[b]) : int(self.page_starts[b + 1])].astype(np.int64)
        return pages, (len(pages) - 1) * self.size + int(self.last_page_length[b]) if len(pages) else 0

    def gather(self, pool, pages, length):
        """Keys or values of a sequence, as (1, Hkv, L, E)."""
        j = np.arange(length)
        return pool[pages[j // self.size], j % self.size].swapaxes(0, 1)[None]

    def columns(self, length):
        return columns(self.mask, length)

    def one(self, b):
        pages, length = self.pages(b)
        return self.kind(
            query=self.query[b : b + 1], key=self.gather(self.key_pool, pages, length),
            value=self.gather(self.value_pool, pages, length), mask=self.columns(length),
            query_lengths=None if self.query_lengths is None else self.query_lengths[b : b + 1],
            sinks=self.sinks, alibi_slopes=self.alibi_slopes, is_causal=self.is_causal,
            causal_alignment=self.causal_alignment, scale=self.scale, softcap=self.softcap, window=self.window,
        )

    def run(self):
        self.check()
        output = np.zeros((self.B, self.Hq, self.Sq, self.value_pool.shape[3]), self.query.dtype)
        wide = np.float64 if output.dtype == np.float64 else np.float32
        logsumexp = np.full((self.B, self.Hq, self.Sq), -np.inf, wide)
        for b in range(self.B):
            given = self.one(b).run()
            output[b], logsumexp[b] = given["output"][0], given["logsumexp"][0]
        return {"output": output, "logsumexp": logsumexp}


class PagedHeadsFirst(Paged):
    heads_first = True


def paged(kind=Paged):
    """The operation in the layouts `paged` and, with a kind that says so, `paged_heads_first`."""

    def scaled_dot_product_attention(
        query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
        alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):
        return kind(
            query=query, key_pool=key_pool, value_pool=value_pool, block_table=block_table, key_lengths=key_lengths,
            query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
            causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
        ).run()

    return scaled_dot_product_attention


def paged_csr(kind=Paged):
    """The operation in the layouts `paged_csr` and, with a kind that says so, `paged_csr_heads_first`."""

    def scaled_dot_product_attention(
        query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
        sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
        window=None,
    ):
        return kind(
            query=query, key_pool=key_pool, value_pool=value_pool, page_starts=page_starts,
            page_indices=page_indices, last_page_length=last_page_length, query_lengths=query_lengths, mask=mask,
            sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
            scale=scale, softcap=softcap, window=window,
        ).run()

    return scaled_dot_product_attention


def bshe(kind=Attention):
    """The operation with tokens before heads; it returns the output alone."""
    inner = bhse(kind)

    def scaled_dot_product_attention(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
        alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        tensors = [None if a is None else np.asarray(a) for a in (query, key, value, past_key, past_value)]
        refuse(any(a is not None and a.ndim != 4 for a in tensors), "rank 4 is owed")
        q, k, v, pk, pv = (None if a is None else a.swapaxes(1, 2) for a in tensors)
        return inner(
            q, k, v, mask, pk, pv, key_lengths, query_lengths, sinks, alibi_slopes, query_scale, key_scale, value_scale,
            is_causal, causal_alignment, scale, softcap, window, output_dtype,
        )["output"].swapaxes(1, 2)

    return scaled_dot_product_attention


attention = bhse()

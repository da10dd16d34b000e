"""Scaled dot-product attention after the pages, in NumPy: dense, packed and paged. Steps are methods, to be replaced one by one."""

import math

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = tuple(np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
FLOATS = tuple(np.dtype(t) for t in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16))
NAMES = (
    "query", "key", "value", "mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks", "alibi_slopes",
    "query_scale", "key_scale", "value_scale", "is_causal", "causal_alignment", "scale", "softcap", "window", "output_dtype",
)  # fmt: skip


class Refused(ValueError):
    pass


def refuse(condition, words):
    if condition:
        raise Refused(words)


def named_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def weigh(shares, value, allowed):
    """Sum of values, each times its share; shares (B, Hq, Sq, K), value (B, Hkv, K, Ev). Excluded values have no effect."""
    batch, heads, queries, keys = shares.shape
    shared, width = value.shape[1], value.shape[3]
    group = heads // shared if shared else 0
    finite = np.isfinite(value)
    clean = np.where(finite, value, 0).astype(value.dtype)
    parts = shares.reshape(batch, shared, group, queries, keys)
    result = (parts @ clean[:, :, None]).reshape(batch, heads, queries, width)
    if not finite.all():
        for j in np.flatnonzero(~finite.all(axis=(0, 1, 3))):
            row = np.repeat(np.where(finite, 0, value)[:, :, j], group, axis=1)[:, :, None, :]
            bad = np.repeat(~finite[:, :, j], group, axis=1)[:, :, None, :]
            reached = np.broadcast_to(allowed, shares.shape)[..., j, None] & bad
            result = np.where(reached, result + shares[..., j, None] * row, result)
    return result


def merge(parts):
    """Parts (output, logsumexp) over disjoint keys, made into one. Outputs are normalised."""
    logs = np.stack([log for _, log in parts])
    largest = logs.max(axis=0, initial=-np.inf)
    safe = np.where(largest == -np.inf, 0, largest)
    shares = np.where(logs == -np.inf, 0, np.exp(logs - safe))
    total = shares.sum(axis=0)
    result = 0
    for (output, _), share in zip(parts, shares / np.where(total == 0, 1, total)):
        result = result + np.where(share[..., None] == 0, 0, share[..., None] * output)
    return result, np.where(total == 0, -np.inf, np.log(np.where(total == 0, 1, total)) + safe)


class Attention:
    # what is refused

    def prepare(self):
        for name in ("query", "key", "value"):
            refuse(np.ndim(getattr(self, name)) != 4, f"{name}: rank is not 4")
        for name in NAMES[:13]:
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name)))
        self.is_causal = bool(self.is_causal)
        self.causal_alignment = self.causal_alignment or "top_left"
        self.B, self.Hq, self.Sq, self.E = self.query.shape
        self.Hkv, self.Sk = self.key.shape[1:3]
        self.Ev = self.value.shape[3]
        self.P = 0 if self.past_key is None else self.past_key.shape[2] if self.past_key.ndim == 4 else 0
        self.K = self.P + self.Sk
        self.results = self.query.dtype
        if self.results in QUANTIZED:
            self.results = named_dtype(self.output_dtype or "float32")
        self.compute = np.dtype(np.float64 if self.results == np.float64 else np.float32)

    def check(self):
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
        refuse(self.key.shape[3] != self.E or self.E == 0, "width")
        refuse(self.key.shape[0] != self.B or self.value.shape[0] != self.B, "batch")
        refuse(self.value.shape[1] != self.Hkv, "heads of key and value")
        refuse(self.Hq % self.Hkv if self.Hkv else self.Hq, "heads of the query")
        refuse(self.value.shape[2] != self.Sk, "length")
        self.group = self.Hq // self.Hkv if self.Hkv else 0
        self.check_past()
        self.check_lengths()
        self.check_mask()
        for name in ("sinks", "alibi_slopes"):
            given = getattr(self, name)
            refuse(given is not None and given.shape != (self.Hq,), name)
        for name in ("query_scale", "key_scale", "value_scale"):
            if getattr(self, name) is not None:
                self.check_scale(name, getattr(self, name))
        refuse(self.softcap is not None and self.softcap < 0, "softcap")

    def check_past(self):
        refuse((self.past_key is None) != (self.past_value is None), "half a past")
        if self.past_key is None:
            return
        refuse(self.past_key.ndim != 4 or self.past_value.ndim != 4, "rank of the past")
        refuse(self.past_key.shape[3] != self.E or self.past_value.shape[3] != self.Ev, "width of the past")
        refuse(self.past_key.shape[0] != self.B or self.past_value.shape[0] != self.B, "batch of the past")
        refuse(self.past_key.shape[1] != self.Hkv or self.past_value.shape[1] != self.Hkv, "heads of the past")
        refuse(self.past_value.shape[2] != self.P, "length of the past")
        refuse(self.key_lengths is not None or self.query_lengths is not None, "past and lengths")

    def check_lengths(self):
        for name, most in (("key_lengths", self.Sk), ("query_lengths", self.Sq)):
            given = getattr(self, name)
            if given is not None:
                refuse(given.shape != (self.B,), f"{name}: batch")
                refuse(bool((given < 0).any()) or bool((given > most).any()), name)

    def check_mask(self):
        if self.mask is None:
            return
        refuse(self.mask.dtype != bool and self.mask.dtype not in FLOATS, "dtype of the mask")
        refuse(not 2 <= self.mask.ndim <= 4, "rank of the mask")
        refuse(self.mask.shape[-1] != self.K, "keys of the mask")
        full = (self.B, self.Hq, self.Sq, self.K)[-self.mask.ndim :]
        refuse(any(a not in (1, b) for a, b in zip(self.mask.shape[:-1], full)), "shape of the mask")

    def check_scale(self, name, given):
        shape = (1, 1) + given.shape
        refuse(given.ndim > 2 or shape[-1] not in (1, self.Hkv) or shape[-2] not in (1, self.B), name)

    # keys and values

    def join(self):
        if self.past_key is None:
            return self.key, self.value
        return tuple(
            np.concatenate((past, new.astype(past.dtype, copy=False)), axis=2)
            for past, new in ((self.past_key, self.key), (self.past_value, self.value))
        )

    def numbers(self, array):
        return array.astype(self.compute)

    def scale_of(self, given):
        """(B, Hkv)"""
        return np.broadcast_to(given.astype(self.compute), (self.B, self.Hkv))

    def times(self, array, factor):
        return self.numbers(array) * factor[:, :, None, None]

    def dequantize(self, keys, values):
        query = self.numbers(self.query)
        if self.query_scale is not None:
            query = query * self.query_factor()[:, :, None, None]
        key = self.numbers(keys) if self.key_scale is None else self.times(keys, self.scale_of(self.key_scale))
        value = self.numbers(values) if self.value_scale is None else self.times(values, self.scale_of(self.value_scale))
        return query, key, value

    def query_factor(self):
        return np.repeat(self.scale_of(self.query_scale), self.group, axis=1)

    # positions

    def lengths(self):
        self.L = np.full(self.B, self.K) if self.key_lengths is None else self.key_lengths.astype(np.int64)
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths.astype(np.int64)

    def offset(self):
        """The position of query 0 in each batch entry."""
        return np.full(self.B, self.P) if self.causal_alignment == "top_left" else self.L - self.N

    def positions(self):
        """Positions of queries (B, 1, Sq, 1), and of keys (K)"""
        return (self.offset()[:, None] + np.arange(self.Sq))[:, None, :, None], np.arange(self.K)

    # scores and logits

    def score(self, query, key):
        scale = 1 / math.sqrt(self.E) if self.scale is None else self.scale
        rows = query.reshape(self.B, self.Hkv, self.group, self.Sq, self.E)
        dots = rows @ key.swapaxes(2, 3)[:, :, None]
        return dots.reshape(self.B, self.Hq, self.Sq, self.K) * self.compute.type(scale)

    def cap(self, scores):
        if not self.softcap:
            return scores
        cap = self.compute.type(self.softcap)
        return cap * np.tanh(scores / cap)

    def slopes(self):
        return self.alibi_slopes.astype(self.compute)[:, None, None]

    def distances(self):
        p, j = self.positions()
        return np.abs(p - j).astype(self.compute)

    def bias(self, logits):
        return logits if self.alibi_slopes is None else logits - self.slopes() * self.distances()

    def add_mask(self, logits):
        return logits if self.mask is None or self.mask.dtype == bool else logits + self.mask.astype(self.compute)

    def in_window(self, p, j):
        left, right = self.window
        inside = np.ones(np.broadcast_shapes(p.shape, j.shape), bool)
        if left is not None:
            inside &= j >= p - left
        if right is not None:
            inside &= j <= p + right
        return inside

    def placed(self):
        """What lengths, causality and the window allow: (B, 1, Sq, K)"""
        p, j = self.positions()
        allowed = np.broadcast_to(np.arange(self.K) < self.L[:, None, None, None], (self.B, 1, self.Sq, self.K)).copy()
        if self.is_causal:
            allowed &= j <= p
        if self.window is not None:
            allowed &= self.in_window(p, j)
        return allowed

    def allowed(self):
        allowed = self.placed()
        if self.mask is not None:
            allowed = allowed & (self.mask if self.mask.dtype == bool else self.mask != -np.inf)
        return np.broadcast_to(allowed, (self.B, self.Hq, self.Sq, self.K))

    # softmax and values

    def sink(self):
        return None if self.sinks is None else self.sinks.astype(self.compute)[None, :, None]

    def reduce(self, logits, allowed, value):
        largest = logits.max(axis=-1, initial=-np.inf)
        sink = self.sink()
        if sink is not None:
            largest = np.maximum(largest, sink)
        safe = np.where(largest == -np.inf, 0, largest)
        powers = np.where(allowed, np.exp(logits - safe[..., None]), 0)
        total = powers.sum(axis=-1)
        if sink is not None:
            total = total + np.exp(sink - safe)
        divisor = np.where(total == 0, 1, total)
        weights = np.where(allowed, powers / divisor[..., None], 0)
        logsumexp = np.where(total == 0, -np.inf, np.log(divisor) + safe)
        return weigh(weights, value, allowed), weights, logsumexp

    def present(self, keys, values, key, value):
        return (
            (keys if self.key_scale is None else key).astype(self.results),
            (values if self.value_scale is None else value).astype(self.results),
        )

    def run(self, arguments):
        for name in NAMES:
            setattr(self, name, arguments.get(name))
        self.prepare()
        self.check()
        with np.errstate(all="ignore"):
            self.lengths()
            keys, values = self.join()
            query, key, value = self.dequantize(keys, values)
            scores = self.score(query, key)
            allowed = self.allowed()
            logits = np.where(allowed, self.add_mask(self.bias(self.cap(scores))), -np.inf).astype(self.compute)
            output, weights, logsumexp = self.reduce(logits, allowed, value)
            present_key, present_value = self.present(keys, values, key, value)
            return {
                "output": output.astype(self.results),
                "weights": weights.astype(self.compute),
                "logsumexp": logsumexp.astype(self.compute),
                "scores": scores,
                "logits": logits,
                "present_key": np.array(present_key),
                "present_value": np.array(present_value),
            }


def dense(kernel=Attention):
    def call(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
        alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):  # fmt: skip
        return kernel().run(dict(locals()))

    return call


def columns(mask, count):
    """The columns of a mask that a sequence of so many keys has."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    refuse(mask.ndim < 2 or mask.shape[-1] < count, "columns of the mask")
    return mask[..., :count]


class Packed:
    kernel = Attention

    def spans(self):
        """For each sequence its rows among the queries, and among the keys"""
        for b in range(len(self.query_starts) - 1):
            yield (
                np.arange(self.query_starts[b], self.query_starts[b + 1]),
                np.arange(self.key_starts[b], self.key_starts[b + 1]),
            )

    def columns(self, count):
        return columns(self.mask, count)

    def run(self, query, key, value, query_starts, key_starts, mask, rest):
        self.query, self.key, self.value, self.mask = (x if x is None else np.asarray(x) for x in (query, key, value, mask))
        self.query_starts, self.key_starts = (np.asarray(x).astype(np.int64) for x in (query_starts, key_starts))
        refuse(any(x.ndim != 3 for x in (self.query, self.key, self.value)), "rank")
        refuse(len(self.key) != len(self.value), "length")
        refuse(self.query_starts.shape != self.key_starts.shape or self.query_starts.ndim != 1, "starts")
        for starts, count in ((self.query_starts, len(self.query)), (self.key_starts, len(self.key))):
            refuse(starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any(), "starts")
        tokens, heads = self.query.shape[:2]
        output = np.zeros((tokens, heads, self.value.shape[2]), self.query.dtype)
        logs = np.zeros((tokens, heads), np.float64 if self.query.dtype == np.float64 else np.float32)
        for rows, places in self.spans():
            q, k, v = (x[None].swapaxes(1, 2) for x in (self.query[rows], self.key[places], self.value[places]))
            found = self.kernel().run({"query": q, "key": k, "value": v, "mask": self.columns(len(places)), **rest})
            output[rows] = found["output"][0].swapaxes(0, 1)
            logs[rows] = found["logsumexp"][0].swapaxes(0, 1)
        return {"output": output, "logsumexp": logs}


def packed(implementation=Packed):
    def call(
        query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):  # fmt: skip
        rest = {
            "sinks": sinks, "alibi_slopes": alibi_slopes, "is_causal": is_causal, "causal_alignment": causal_alignment,
            "scale": scale, "softcap": softcap, "window": window,
        }  # fmt: skip
        return implementation().run(query, key, value, query_starts, key_starts, mask, rest)

    return call


class Paged:
    """Pools of pages; `table` says the pages of each sequence, and how many keys it has."""

    kernel = Attention
    heads_first = False

    def from_table(self, block_table, key_lengths):
        table, lengths = np.asarray(block_table), np.asarray(key_lengths)
        refuse(table.ndim != 2 or lengths.shape != (len(table),), "table")
        refuse((lengths < 0).any() or (lengths > table.shape[1] * self.page_size).any(), "key_lengths")
        return [(table[b, : -(-int(n) // self.page_size)], int(n)) for b, n in enumerate(lengths)]

    def from_list(self, page_starts, page_indices, last_page_length):
        starts, indices, last = (np.asarray(x) for x in (page_starts, page_indices, last_page_length))
        refuse(starts.ndim != 1 or last.shape != (len(starts) - 1,), "lists")
        found = []
        for b in range(len(starts) - 1):
            pages = indices[starts[b] : starts[b + 1]]
            count = 0
            if len(pages):
                refuse(not 1 <= last[b] <= self.page_size, "last_page_length")
                count = (len(pages) - 1) * self.page_size + int(last[b])
            found.append((pages, count))
        return found

    def gather(self, pool, pages, count):
        """(1, Hkv, count, E)"""
        taken = pool[pages.astype(np.int64)]
        if not self.heads_first:
            taken = taken.swapaxes(1, 2)
        taken = taken.swapaxes(0, 1)
        return taken.reshape(taken.shape[0], -1, taken.shape[3])[None, :, :count]

    def attend(self, b, q, pages, count, rest):
        arguments = {
            "query": q,
            "key": self.gather(self.key_pool, pages, count),
            "value": self.gather(self.value_pool, pages, count),
            "mask": columns(self.mask, count),
        }
        return self.kernel().run(arguments | rest)

    def prepare(self, sequences, rest):
        pass

    def run(self, query, key_pool, value_pool, where, query_lengths, mask, rest):
        self.query, self.key_pool, self.value_pool = (np.asarray(x) for x in (query, key_pool, value_pool))
        self.mask = mask
        refuse(any(x.ndim != 4 for x in (self.query, self.key_pool, self.value_pool)), "rank")
        refuse(self.key_pool.shape[:3] != self.value_pool.shape[:3], "pools")
        self.page_size = self.key_pool.shape[2 if self.heads_first else 1]
        sequences = self.sequences(where)
        batch, heads, queries, _ = self.query.shape
        refuse(len(sequences) != batch, "batch")
        counts = np.full(batch, queries) if query_lengths is None else np.asarray(query_lengths)
        refuse(counts.shape != (batch,) or (counts < 0).any() or (counts > queries).any(), "query_lengths")
        self.counts = counts.astype(np.int64)
        self.prepare(sequences, rest)
        output = np.zeros((batch, heads, queries, self.value_pool.shape[3]), self.query.dtype)
        logs = np.zeros((batch, heads, queries), np.float64 if self.query.dtype == np.float64 else np.float32)
        for b, (pages, count) in enumerate(sequences):
            n = int(self.counts[b])
            found = self.attend(b, self.query[b : b + 1, :, :n], pages, count, rest)
            output[b, :, :n] = found["output"][0]
            logs[b, :, :n] = found["logsumexp"][0]
        return {"output": output, "logsumexp": logs}

    def sequences(self, where):
        return self.from_table(*where) if len(where) == 2 else self.from_list(*where)


class PagedHeadsFirst(Paged):
    heads_first = True


def paged(implementation=Paged):
    def call(
        query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
        alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):  # fmt: skip
        rest = {
            "sinks": sinks, "alibi_slopes": alibi_slopes, "is_causal": is_causal, "causal_alignment": causal_alignment,
            "scale": scale, "softcap": softcap, "window": window,
        }  # fmt: skip
        where = (block_table, key_lengths)
        return implementation().run(query, key_pool, value_pool, where, query_lengths, mask, rest)

    return call


def paged_csr(implementation=Paged):
    def call(
        query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
        sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):  # fmt: skip
        rest = {
            "sinks": sinks, "alibi_slopes": alibi_slopes, "is_causal": is_causal, "causal_alignment": causal_alignment,
            "scale": scale, "softcap": softcap, "window": window,
        }  # fmt: skip
        where = (page_starts, page_indices, last_page_length)
        return implementation().run(query, key_pool, value_pool, where, query_lengths, mask, rest)

    return call

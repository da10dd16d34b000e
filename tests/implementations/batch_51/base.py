"""Attention after the pages: a straightforward one, in steps that other files may replace one by one."""

import ml_dtypes
import numpy as np

E4M3, E5M2, INT8 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(np.int8)
QUANTIZED = (E4M3, E5M2, INT8)
ALL_DTYPES = ("float64", "float32", "bfloat16", "float16")
NAMED = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def quantized(array):
    return array.dtype in QUANTIZED


def refuse(condition, reason):
    if condition:
        raise ValueError(reason)




class Attention:
    """One call. Attributes: the arguments, B Hq Hkv Sq Sk P T group, L and N (B,), position (B, Sq)."""

    def run(
        self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
        sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        given = dict(locals())
        del given["self"]
        for name, argument in given.items():
            setattr(self, name, argument)
        for name in ("query", "key", "value", "mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks",
                     "alibi_slopes", "query_scale", "key_scale", "value_scale"):
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name)))
        with np.errstate(all="ignore"):
            self.check()
            self.choose_dtypes()
            return self.compute()

    # what is refused

    def check(self):
        q, k, v = self.query, self.key, self.value
        refuse(any(a.ndim != 4 for a in (q, k, v)), "rank")
        self.B, self.Hq, self.Sq, self.E = q.shape
        _, self.Hkv, self.Sk, _ = k.shape
        self.Ev = v.shape[3]
        refuse(self.E == 0, "no features")
        refuse(k.shape[3] != self.E, "width")
        refuse(k.shape[0] != self.B or v.shape[0] != self.B, "batch")
        refuse(v.shape[1] != self.Hkv, "heads of key and value")
        refuse(self.Hq != 0 if self.Hkv == 0 else self.Hq % self.Hkv != 0, "grouped heads")
        refuse(v.shape[2] != self.Sk, "tokens of key and value")
        self.group = 1 if self.Hkv == 0 else self.Hq // self.Hkv
        self.check_past()
        self.T = self.P + self.Sk
        self.check_lengths()
        self.check_mask()
        for name in ("sinks", "alibi_slopes"):
            array = getattr(self, name)
            refuse(array is not None and array.shape != (self.Hq,), name)
        for name, numbers in (("query_scale", q), ("key_scale", k), ("value_scale", v)):
            self.check_scale(name, getattr(self, name), numbers)
        refuse(self.softcap is not None and self.softcap < 0, "softcap")
        refuse(self.causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")

    def check_past(self):
        refuse((self.past_key is None) != (self.past_value is None), "past keys and values come together")
        self.P = 0
        if self.past_key is not None:
            pk, pv = self.past_key, self.past_value
            refuse(pk.ndim != 4 or pv.ndim != 4, "rank of the past")
            refuse(pk.shape[0] != self.B or pv.shape[0] != self.B, "batch of the past")
            refuse(pk.shape[1] != self.Hkv or pv.shape[1] != self.Hkv, "heads of the past")
            refuse(pk.shape[2] != pv.shape[2], "tokens of the past")
            refuse(pk.shape[3] != self.E or pv.shape[3] != self.Ev, "width of the past")
            refuse(self.key_lengths is not None or self.query_lengths is not None, "past and lengths")
            self.P = pk.shape[2]

    def check_lengths(self):
        for lengths, most in ((self.key_lengths, self.Sk), (self.query_lengths, self.Sq)):
            if lengths is not None:
                refuse(lengths.shape != (self.B,), "lengths for another batch")
                refuse(bool(((lengths < 0) | (lengths > most)).any()), "length out of range")
        self.L = np.full(self.B, self.T) if self.key_lengths is None else self.key_lengths.astype(np.int64)
        self.N = np.full(self.B, self.Sq) if self.query_lengths is None else self.query_lengths.astype(np.int64)

    def check_mask(self):
        if self.mask is None:
            return
        refuse(self.mask.dtype.kind in "iu", "mask of integers")
        refuse(not 2 <= self.mask.ndim <= 4, "rank of the mask")
        whole = (self.B, self.Hq, self.Sq, self.T)
        refuse(self.mask.shape[-1] != self.T, "columns of the mask")
        for have, want in zip(self.mask.shape[::-1], whole[::-1]):
            refuse(have not in (1, want), "shape of the mask")

    def check_scale(self, name, factor, numbers):
        refuse((factor is None) == quantized(numbers), f"{name} goes with quantized numbers")
        if factor is not None:
            refuse(factor.ndim > 2, name)
            for have, want in zip(factor.shape[::-1], (self.Hkv, self.B)):
                refuse(have not in (1, want), name)

    # dtypes

    def choose_dtypes(self):
        if quantized(self.query):
            self.result = NAMED[self.output_dtype or "float32"]
        else:
            self.result = self.query.dtype
        self.work = np.dtype(np.float64) if self.result == np.float64 else np.dtype(np.float32)

    # steps

    def compute(self):
        self.prepare()
        self.place()
        scores = self.scores()
        logits = self.bias(self.cap(scores))
        keep = self.keep()
        logits = np.where(keep, logits, self.work.type(-np.inf))
        weights, logsumexp, output = self.attend(logits, keep)
        return self.results(output=output, weights=weights, logsumexp=logsumexp, scores=scores, logits=logits)

    def results(self, **outputs):
        # scores, logits and logarithms stay as wide as they are: half precision need not hold them
        wide = np.promote_types(self.work, np.float64 if self.result == np.float64 else np.float32)
        dtypes = {"output": self.result, "weights": self.result}
        outputs = {name: array.astype(dtypes.get(name, wide)) for name, array in outputs.items() if array is not None}
        return outputs | self.present()

    def present(self):
        made = {}
        for name, new, past, product in (
            ("present_key", self.key, self.past_key, self.k), ("present_value", self.value, self.past_value, self.v),
        ):
            if quantized(new):
                made[name] = product.astype(self.result)
            else:
                parts = (new,) if past is None else (past, new)
                made[name] = np.concatenate(parts, axis=2).astype(self.result)
        return made

    def whole(self, past, new):
        return new if past is None else np.concatenate((past, new), axis=2)

    def prepare(self):
        self.q = self.product("query", self.query, self.query_scale)
        self.k = self.product("key", self.whole(self.past_key, self.key), self.key_scale)
        self.v = self.product("value", self.whole(self.past_value, self.value), self.value_scale)

    def factors(self, name, factor):
        """(B, Hkv), in the dtype that is worked in."""
        return np.broadcast_to(factor, (self.B, self.Hkv)).astype(self.work)

    def spread(self, name, factors):
        """(B, heads, 1, 1): one for each head of the tensor."""
        if name == "query":
            factors = np.repeat(factors, self.group, axis=1)
        return factors[:, :, None, None]

    def numbers(self, name, array):
        return array.astype(self.work)

    def product(self, name, array, factor):
        numbers = self.numbers(name, array)
        return numbers if factor is None else numbers * self.spread(name, self.factors(name, factor))

    def offset(self):
        """(B,): where the first query stands."""
        if self.causal_alignment == "top_left":
            return np.full(self.B, self.P)
        return self.L - self.N

    def place(self):
        self.position = self.offset()[:, None] + np.arange(self.Sq)

    def per_query_head(self, array):
        return np.repeat(array, self.group, axis=1)

    def factor(self):
        return self.work.type(1 / np.sqrt(self.E) if self.scale is None else self.scale)

    def scores(self):
        return np.matmul(self.q, self.per_query_head(self.k).swapaxes(-1, -2)) * self.factor()

    def cap(self, scores):
        if not self.softcap:
            return scores
        c = self.work.type(self.softcap)
        return c * np.tanh(scores / c)

    def distance(self):
        """(B or 1, 1 or Hq, Sq, T)"""
        return np.abs(self.position[:, None, :, None] - np.arange(self.T)).astype(self.work)

    def alibi(self):
        return self.alibi_slopes.astype(self.work)[None, :, None, None] * self.distance()

    def mask_array(self):
        return self.mask

    def bias(self, logits):
        if self.alibi_slopes is not None:
            logits = logits - self.alibi()
        mask = self.mask_array()
        if mask is not None and mask.dtype != bool:
            logits = logits + mask.astype(self.work)
        return logits

    def causal_keep(self, p, j):
        return j <= p

    def keep(self):
        p, j = self.position[:, None, :, None], np.arange(self.T)
        keep = np.broadcast_to(j < self.L[:, None, None, None], (self.B, self.Hq, self.Sq, self.T))
        if self.is_causal:
            keep = keep & self.causal_keep(p, j)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                keep = keep & (j >= p - left)
            if right is not None:
                keep = keep & (j <= p + right)
        mask = self.mask_array()
        if mask is not None:
            keep = keep & (mask if mask.dtype == bool else mask.astype(self.work) != -np.inf)
        return keep

    def sink(self):
        return None if self.sinks is None else self.sinks.astype(self.work)[None, :, None]

    def largest(self, logits):
        """(B, Hq, Sq): what is subtracted from each row."""
        largest = logits.max(axis=-1, initial=-np.inf)
        return largest if self.sinks is None else np.maximum(largest, self.sink())

    def softmax(self, logits, keep):
        largest = self.largest(logits)
        largest = np.where(largest == -np.inf, self.work.type(0), largest)
        powers = np.where(keep, np.exp(logits - largest[..., None]), self.work.type(0))
        total = powers.sum(axis=-1)
        if self.sinks is not None:
            total = total + np.exp(self.sink() - largest)
        weights = np.where(keep & (total[..., None] != 0), powers / total[..., None], self.work.type(0))
        return weights, largest + np.log(total)

    def weigh(self, weights, keep, lo=0, hi=None):
        return weigh(weights, keep, self.per_query_head(self.v[:, :, lo:hi]))

    def attend(self, logits, keep):
        weights, logsumexp = self.softmax(logits, keep)
        return weights, logsumexp, self.weigh(weights, keep)

    # parts of the keys

    def part(self, logits, keep, lo, hi):
        """The keys from lo to hi: unnormalised sum of values, largest logit, sum of powers."""
        logits, keep = logits[..., lo:hi], keep[..., lo:hi]
        largest = logits.max(axis=-1, initial=-np.inf)
        safe = np.where(largest == -np.inf, self.work.type(0), largest)
        powers = np.where(keep, np.exp(logits - safe[..., None]), self.work.type(0))
        return self.weigh(powers, keep, lo, hi), largest, powers.sum(axis=-1)

    def finish(self, parts):
        """Output and logsumexp from parts, the sink counted once."""
        largest = parts[0][1]
        for _, other, _ in parts[1:]:
            largest = np.maximum(largest, other)
        if self.sinks is not None:
            largest = np.maximum(largest, self.sink())
        largest = np.where(largest == -np.inf, self.work.type(0), largest)
        total = np.zeros_like(largest) if self.sinks is None else np.exp(self.sink() - largest) + 0 * largest
        output = 0
        for values, other, powers in parts:
            shrink = np.exp(other - largest)
            total = total + shrink * powers
            output = output + np.where((shrink == 0)[..., None] & np.isfinite(values), 0, shrink[..., None] * values)
        output = np.where(total[..., None] == 0, self.work.type(0), output / total[..., None])
        return output, largest + np.log(total)


def wide(query):
    return np.float64 if query.dtype == np.float64 else np.float32


def weigh(weights, keep, values):
    """Sum of values, each times its weight; what is not kept has no effect."""
    good = np.isfinite(values)
    if good.all():
        return np.matmul(weights, values)
    output = np.matmul(weights, np.where(good, values, values.dtype.type(0)))
    some = ~good[:, :, None] & keep[..., None]
    return output + np.where(some, weights[..., None] * values[:, :, None], values.dtype.type(0)).sum(axis=-2)


def columns(mask, length):
    """What a sequence has of a mask without axes of batch entries and queries."""
    if mask is None:
        return None
    mask = np.atleast_2d(mask)
    refuse(mask.shape[-1] < length, "columns of the mask")
    refuse(mask.shape[-2] != 1 or (mask.ndim == 4 and mask.shape[0] != 1), "a mask with axes of batch or queries")
    return mask[..., :length]


def check_packed(query, key, value, query_starts, key_starts):
    query, key, value = (np.asarray(a) for a in (query, key, value))
    query_starts, key_starts = (np.asarray(a).astype(np.int64) for a in (query_starts, key_starts))
    refuse(any(a.ndim != 3 for a in (query, key, value)), "rank")
    refuse(query.shape[2] != key.shape[2], "width")
    refuse(key.shape[1] != value.shape[1], "heads of key and value")
    refuse(query.shape[1] != 0 if key.shape[1] == 0 else query.shape[1] % key.shape[1] != 0, "grouped heads")
    refuse(key.shape[0] != value.shape[0], "tokens of key and value")
    refuse(query_starts.ndim != 1 or query_starts.shape != key_starts.shape or len(query_starts) < 1, "starts")
    for starts, tokens in ((query_starts, len(query)), (key_starts, len(key))):
        refuse(starts[0] != 0 or starts[-1] != tokens or (np.diff(starts) < 0).any(), "starts")
    return query, key, value, query_starts, key_starts


def packed_sequence(query, key, value, mask, attention, options):
    """One sequence: (N, Hq, E), (L, Hkv, E): output (N, Hq, Ev) and logsumexp (N, Hq)."""
    made = attention.run(
        query.swapaxes(0, 1)[None], key.swapaxes(0, 1)[None], value.swapaxes(0, 1)[None],
        mask=columns(mask, len(key)), **options,
    )
    return made["output"][0].swapaxes(0, 1), made["logsumexp"][0].swapaxes(0, 1)


def packed(query, key, value, query_starts, key_starts, mask=None, make=lambda b, qs, ks: Attention(), **options):
    query, key, value, query_starts, key_starts = check_packed(query, key, value, query_starts, key_starts)
    output = np.zeros((len(query), query.shape[1], value.shape[2]), query.dtype)
    logsumexp = np.zeros(query.shape[:2], wide(query))
    for b in range(len(query_starts) - 1):
        q, k = slice(*query_starts[b : b + 2]), slice(*key_starts[b : b + 2])
        output[q], logsumexp[q] = packed_sequence(
            query[q], key[k], value[k], mask, make(b, query_starts[b], key_starts[b]), options
        )
    return {"output": output, "logsumexp": logsumexp}


def gather(pool, pages, length, heads_first):
    """Keys or values of a sequence (Hkv, length, E)."""
    part = pool[np.asarray(pages, np.int64)]
    if not heads_first:
        part = part.swapaxes(1, 2)
    count, heads, size, width = part.shape
    return part.swapaxes(0, 1).reshape(heads, count * size, width)[:, :length]


def pages_of_table(block_table, key_lengths, size):
    block_table, lengths = np.asarray(block_table), np.asarray(key_lengths).astype(np.int64)
    refuse(block_table.ndim != 2 or lengths.shape != (len(block_table),), "table")
    refuse((lengths < 0).any() or (lengths > block_table.shape[1] * size).any(), "key lengths")
    return [row[: -(-n // size)] for row, n in zip(block_table, lengths)], lengths


def pages_of_list(page_starts, page_indices, last_page_length, size):
    starts, indices = np.asarray(page_starts).astype(np.int64), np.asarray(page_indices)
    last = np.asarray(last_page_length).astype(np.int64)
    refuse(starts.ndim != 1 or last.shape != (len(starts) - 1,), "list")
    refuse(starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > len(indices), "page starts")
    pages = [indices[a:b] for a, b in zip(starts[:-1], starts[1:])]
    lengths = []
    for own, end in zip(pages, last):
        refuse(len(own) and not 1 <= end <= size, "last page")
        lengths.append((len(own) - 1) * size + end if len(own) else 0)
    return pages, np.array(lengths, np.int64)


def page_size(key_pool, heads_first):
    return key_pool.shape[2 if heads_first else 1]


def check_paged(query, key_pool, value_pool, heads_first, sequences, query_lengths):
    query, key_pool, value_pool = (np.asarray(a) for a in (query, key_pool, value_pool))
    refuse(any(a.ndim != 4 for a in (query, key_pool, value_pool)), "rank")
    refuse(query.shape[3] != key_pool.shape[3], "width")
    refuse(key_pool.shape[:3] != value_pool.shape[:3], "pools")
    refuse(len(query) != sequences, "batch")
    heads = key_pool.shape[1 if heads_first else 2]
    refuse(query.shape[1] != 0 if heads == 0 else query.shape[1] % heads != 0, "grouped heads")
    if query_lengths is not None:
        query_lengths = np.asarray(query_lengths)
        refuse(query_lengths.shape != (len(query),), "query lengths")
        refuse(((query_lengths < 0) | (query_lengths > query.shape[2])).any(), "query lengths")
    return query, key_pool, value_pool, query_lengths


def paged(
    query, key_pool, value_pool, pages, lengths, heads_first=False, mask=None, query_lengths=None,
    make=lambda b: Attention(), gather=gather, **options,
):
    query, key_pool, value_pool, query_lengths = check_paged(
        query, key_pool, value_pool, heads_first, len(pages), query_lengths
    )
    output = np.zeros((*query.shape[:3], value_pool.shape[3]), query.dtype)
    logsumexp = np.zeros(query.shape[:3], wide(query))
    for b, (own, length) in enumerate(zip(pages, lengths)):
        made = make(b).run(
            query[b : b + 1], gather(key_pool, own, length, heads_first)[None],
            gather(value_pool, own, length, heads_first)[None], mask=columns(mask, length),
            query_lengths=None if query_lengths is None else query_lengths[b : b + 1], **options,
        )
        output[b], logsumexp[b] = made["output"][0], made["logsumexp"][0]
    return {"output": output, "logsumexp": logsumexp}


def scaled_dot_product_attention(query, key, value, **options):
    return Attention().run(query, key, value, **options)


def tokens_first(query, key, value, make=Attention, past_key=None, past_value=None, **options):
    """(B, S, H, E): the output alone comes back."""
    arrays = [np.asarray(a) for a in (query, key, value)]
    past = [None if a is None else np.asarray(a) for a in (past_key, past_value)]
    refuse(any(a.ndim != 4 for a in arrays + [a for a in past if a is not None]), "rank")
    past = [None if a is None else a.swapaxes(1, 2) for a in past]
    made = make().run(*(a.swapaxes(1, 2) for a in arrays), past_key=past[0], past_value=past[1], **options)
    return {"output": np.ascontiguousarray(made["output"].swapaxes(1, 2))}

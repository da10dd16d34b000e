"""Scaled dot-product attention after the pages, step by step, in parts that the other files use."""
from types import SimpleNamespace

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")
HALF = ("bfloat16", "float16")


def dtype_of(name):
    name = getattr(name, "name", name)
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, str(name)) else np.dtype(name)


def wider(dtype):
    """The dtype of weights, logarithms, scores and logits: that of the results, or float32 for half precision."""
    return np.dtype(np.float32) if dtype.name in HALF else dtype


def quantized(array):
    return array.dtype.name in QUANTIZED


def refuse(condition, text):
    if condition:
        raise ValueError(text)


class Attention:
    """One method for each step; `a` holds arguments and what lies between."""

    def run(self, **arguments):
        a = SimpleNamespace(**arguments)
        with np.errstate(all="ignore"):
            self.check(a)
            self.prepend(a)
            self.multiply(a)
            self.place(a)
            a.scores = self.score(a)
            a.biased = self.bias(a, self.cap(a))
            a.allowed = self.exclude(a)
            a.logits = np.where(a.allowed, a.biased, -np.inf)
            self.softmax(a)
            a.output = self.weigh(a)
            return self.finish(a)

    # 1. check
    def check(self, a):
        for name in ("query", "key", "value"):
            array = np.asarray(getattr(a, name))
            setattr(a, name, array)
            refuse(array.ndim != 4, f"{name} is not of rank 4")
        a.B, a.Hq, a.Sq, a.E = a.query.shape
        _, a.Hkv, a.Sk, _ = a.key.shape
        a.Ev = a.value.shape[3]
        refuse(a.E == 0, "queries without features")
        refuse(a.key.shape[3] != a.E, "query and key of different widths")
        refuse(not a.query.shape[0] == a.key.shape[0] == a.value.shape[0], "different batch sizes")
        refuse(a.key.shape[1] != a.value.shape[1], "key and value of different numbers of heads")
        refuse(a.Hq % a.Hkv != 0 if a.Hkv else a.Hq != 0, "query heads are no multiple of key heads")
        refuse(a.value.shape[2] != a.Sk, "key and value of different numbers of tokens")
        a.G = a.Hq // a.Hkv if a.Hkv else 1
        self.check_past(a)
        a.T = a.P + a.Sk
        self.check_lengths(a)
        self.check_mask(a)
        self.check_scales(a)
        refuse(a.causal_alignment not in ("top_left", "bottom_right"), "unknown alignment")
        refuse(a.softcap is not None and a.softcap < 0, "negative softcap")
        a.dtype = a.query.dtype
        if quantized(a.query):
            a.dtype = dtype_of(a.output_dtype or "float32")

    def check_past(self, a):
        refuse((a.past_key is None) != (a.past_value is None), "past key and value come together")
        a.P = 0
        if a.past_key is None:
            return
        a.past_key, a.past_value = np.asarray(a.past_key), np.asarray(a.past_value)
        refuse(a.past_key.ndim != 4 or a.past_value.ndim != 4, "past is not of rank 4")
        refuse(a.past_key.shape[3] != a.E, "past keys of another width")
        refuse(a.past_value.shape[3] != a.Ev, "past values of another width")
        refuse(a.past_key.shape[0] != a.B or a.past_value.shape[0] != a.B, "past of another batch size")
        refuse(a.past_key.shape[1] != a.Hkv or a.past_value.shape[1] != a.Hkv, "past of other heads")
        refuse(a.past_key.shape[2] != a.past_value.shape[2], "past keys and values of different numbers of tokens")
        refuse(a.key_lengths is not None or a.query_lengths is not None, "past and lengths")
        a.P = a.past_key.shape[2]

    def limit(self, a, name):
        return a.Sk if name == "key_lengths" else a.Sq

    def check_lengths(self, a):
        for name in ("key_lengths", "query_lengths"):
            lengths = getattr(a, name)
            if lengths is None:
                continue
            lengths = np.asarray(lengths)
            refuse(lengths.shape != (a.B,), f"{name} for another number of batch entries")
            refuse(lengths.dtype.kind not in "iu", f"{name} are whole numbers")
            refuse(bool(np.any(lengths < 0)), f"{name} below 0")
            refuse(bool(np.any(lengths > self.limit(a, name))), f"{name} above the number of tokens")
            setattr(a, name, lengths)

    def check_mask(self, a):
        if a.mask is None:
            return
        a.mask = np.asarray(a.mask)
        refuse(a.mask.dtype.kind in "iu", "a mask of integers")
        refuse(not 2 <= a.mask.ndim <= 4, "rank of the mask")
        refuse(a.mask.shape[-1] != a.T, "the mask has another number of keys")
        full = (a.B, a.Hq, a.Sq, a.T)
        for have, want in zip(a.mask.shape[::-1], full[::-1]):
            refuse(have != 1 and have != want, "the mask does not broadcast")

    def scale_heads(self, a, name):
        return a.Hkv

    def check_scales(self, a):
        for name in ("query_scale", "key_scale", "value_scale"):
            scale = getattr(a, name)
            if scale is None:
                continue
            scale = np.asarray(scale)
            refuse(scale.ndim > 2, f"rank of {name}")
            for have, want in zip(scale.shape[::-1], (self.scale_heads(a, name), a.B)):
                refuse(have != 1 and have != want, f"shape of {name}")
            setattr(a, name, scale)
        for name in ("query", "key", "value"):
            refuse(quantized(getattr(a, name)) and getattr(a, name + "_scale") is None, f"{name} without scale")

    # 2. prepend the past
    def prepend(self, a):
        a.keys, a.values = a.key, a.value
        if a.past_key is not None:
            a.keys = self.join(a, a.past_key, a.key)
            a.values = self.join(a, a.past_value, a.value)

    def join(self, a, past, new):
        return np.concatenate([past.astype(new.dtype), new], axis=2)

    # 3, 4. multiply by the scales, widen
    def factor(self, a, name):
        """A scale as (B, Hkv, 1, 1)."""
        scale = getattr(a, name + "_scale")
        return np.broadcast_to(scale.astype(np.float64), (a.B, a.Hkv))[:, :, None, None]

    def numbers(self, a, raw):
        return np.array(raw, dtype=np.float64)

    def product(self, a, name, raw):
        numbers = self.numbers(a, raw)
        if getattr(a, name + "_scale") is None or not quantized(raw):
            return numbers
        factor = self.factor(a, name)
        return numbers * (np.repeat(factor, a.G, axis=1) if name == "query" else factor)

    def multiply(self, a):
        a.q = self.product(a, "query", a.query)
        a.k = self.product(a, "key", a.keys)
        a.v = self.product(a, "value", a.values)
        a.present_key = a.k.astype(a.dtype) if quantized(a.keys) else np.array(a.keys, dtype=a.dtype)
        a.present_value = a.v.astype(a.dtype) if quantized(a.values) else np.array(a.values, dtype=a.dtype)

    # 5. place the queries
    def place(self, a):
        whole = lambda x, n: np.full(a.B, n) if x is None else x.astype(np.int64)
        a.L, a.N = whole(a.key_lengths, a.T), whole(a.query_lengths, a.Sq)
        a.i, a.j = np.arange(a.Sq), np.arange(a.T)
        a.p = self.positions(a)

    def positions(self, a):
        offset = np.full(a.B, a.P) if a.causal_alignment == "top_left" else a.L - a.N
        return a.i[None, :] + offset[:, None]

    # 6 to 8. scores
    def factor_of_scores(self, a):
        return 1 / np.sqrt(float(a.E)) if a.scale is None else float(a.scale)

    def score(self, a):
        return a.q @ np.repeat(a.k, a.G, axis=1).swapaxes(-1, -2) * self.factor_of_scores(a)

    # 9. cap
    def cap(self, a):
        if not a.softcap:
            return a.scores
        return float(a.softcap) * np.tanh(a.scores / float(a.softcap))

    # 10, 11. biases
    def distance(self, a):
        return np.abs(a.p[:, :, None] - a.j)  # (B, Sq, T)

    def alibi(self, a):
        return np.asarray(a.alibi_slopes).astype(np.float64)[None, :, None, None] * self.distance(a)[:, None]

    def bias(self, a, logits):
        if a.alibi_slopes is not None:
            logits = logits - self.alibi(a)
        if a.mask is not None and a.mask.dtype != bool:
            logits = logits + a.mask.astype(np.float64)
        return logits

    # 12. exclude
    def window_allows(self, a, p):
        allowed = np.ones((a.B, a.Sq, a.T), bool)
        if a.window is not None:
            left, right = a.window
            if left is not None:
                allowed &= a.j >= p[:, :, None] - left
            if right is not None:
                allowed &= a.j <= p[:, :, None] + right
        return allowed

    def exclude(self, a):
        allowed = np.broadcast_to(a.j < a.L[:, None, None], (a.B, a.Sq, a.T)).copy()
        if a.is_causal:
            allowed &= a.j <= a.p[:, :, None]
        allowed &= self.window_allows(a, a.p)
        allowed = np.broadcast_to(allowed[:, None], (a.B, a.Hq, a.Sq, a.T))
        if a.mask is not None:
            allowed = allowed & (a.mask if a.mask.dtype == bool else a.mask.astype(np.float64) != -np.inf)
        return allowed

    # 13, 14. sinks and softmax
    def sink(self, a):
        """The sinks as (1, Hq, 1, 1), or None."""
        return None if a.sinks is None else np.asarray(a.sinks).astype(np.float64)[None, :, None, None]

    def largest(self, a):
        top = np.max(a.logits, axis=-1, keepdims=True, initial=-np.inf)
        sink = self.sink(a)
        return top if sink is None else np.maximum(top, sink)

    def softmax(self, a):
        top = self.largest(a)
        shift = np.where(top == -np.inf, 0.0, top)
        powers = np.where(a.allowed, np.exp(a.logits - shift), 0.0)
        total = powers.sum(axis=-1, keepdims=True)
        sink = self.sink(a)
        if sink is not None:
            total = total + np.exp(sink - shift)
        empty = ~a.allowed.any(axis=-1, keepdims=True)
        a.weights = np.where(a.allowed, powers / np.where(empty | (total == 0), 1.0, total), 0.0)
        a.lse = (np.log(total) + shift)[..., 0]
        if sink is not None:
            a.lse = np.where(empty[..., 0], sink[..., 0], a.lse)

    # 15. weigh
    def weigh(self, a):
        return average(a.weights, a.v, a.allowed, a.G)

    # 16. round
    def finish(self, a):
        wide = wider(a.dtype)
        return {
            "output": a.output.astype(a.dtype),
            "weights": a.weights.astype(wide),
            "logsumexp": a.lse.astype(wide),
            "scores": a.scores.astype(wide),
            "logits": a.logits.astype(wide),
            "present_key": a.present_key,
            "present_value": a.present_value,
        }


def average(weights, v, allowed, group):
    """Weighted sums of the values, to which excluded ones add nothing, whatever they hold."""
    v = np.repeat(v, group, axis=1)
    finite = np.isfinite(v)
    output = weights @ np.where(finite, v, 0.0)
    odd = np.where(finite, 0.0, v)
    for j in np.flatnonzero(~finite.all(axis=(0, 1, 3))):
        term = weights[..., j, None] * odd[:, :, None, j, :]
        here = allowed[..., j, None] & ~finite[:, :, None, j, :]
        output = output + np.where(here, term, 0.0)
    return output


def operation(attention=Attention):
    """An operation of the plain layout, with every argument of the page."""

    def attend(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
               sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
               causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
        return attention().run(**locals_without(locals(), "attention"))

    return attend


def locals_without(names, *left_out):
    return {name: value for name, value in names.items() if name not in left_out}


PLAIN = dict(mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
             alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
             causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None)


def first_columns(mask, length):
    return mask[..., :length]


def sequence(query, key, value, attention=Attention, columns=first_columns, mask=None, **rest):
    """Queries (N, Hq, E), keys (L, Hkv, E) and values of one sequence: output (N, Hq, Ev), logsumexp (N, Hq)."""
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        refuse(mask.shape[0] != 1 or mask.shape[2] != 1, "a mask with an axis of batch entries or queries")
        refuse(mask.shape[1] not in (1, query.shape[1]), "a mask for other heads")
        refuse(mask.shape[3] < key.shape[0], "a mask of too few columns")
        mask = columns(mask, key.shape[0])
    arguments = {**PLAIN, **rest, "mask": mask}
    result = attention().run(query=query.swapaxes(0, 1)[None], key=key.swapaxes(0, 1)[None],
                             value=value.swapaxes(0, 1)[None], **arguments)
    return result["output"][0].swapaxes(0, 1), result["logsumexp"][0].swapaxes(0, 1)


def check_shared(query, key, value, heads):
    """What layouts of serving have in common: widths, and numbers of heads (on axis `heads` of key and value)."""
    refuse(query.shape[-1] != key.shape[-1], "query and key of different widths")
    refuse(key.shape[heads] != value.shape[heads], "key and value of different numbers of heads")
    hq, hkv = query.shape[1], key.shape[heads]
    refuse(hq % hkv != 0 if hkv else hq != 0, "query heads are no multiple of key heads")


def packed_run(query, key, value, query_starts, key_starts, parts=None, attention=Attention, columns=first_columns, **rest):
    """`parts` gives (rows of queries, rows of keys) for each sequence."""
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    refuse(not query.ndim == key.ndim == value.ndim == 3, "rank")
    refuse(key.shape[0] != value.shape[0], "key and value of different numbers of tokens")
    check_shared(query, key, value, 1)
    query_starts, key_starts = np.asarray(query_starts).astype(np.int64), np.asarray(key_starts).astype(np.int64)
    refuse(query_starts.ndim != 1 or query_starts.shape != key_starts.shape, "starts of other numbers of sequences")
    if parts is None:
        parts = [(np.arange(query_starts[b], query_starts[b + 1]), np.arange(key_starts[b], key_starts[b + 1]))
                 for b in range(len(query_starts) - 1)]
    output = np.zeros((*query.shape[:2], value.shape[2]), query.dtype)
    logsumexp = np.full(query.shape[:2], -np.inf, wider(query.dtype))
    for b, (rows, keys) in enumerate(parts):
        if len(rows):
            made = attention
            if hasattr(attention, "at"):
                made = lambda: attention.at(int(query_starts[b]), int(key_starts[b]))
            output[rows], logsumexp[rows] = sequence(query[rows], key[keys], value[keys], made, columns, **rest)
    return {"output": output, "logsumexp": logsumexp}


def packed_operation(parts=lambda query_starts, key_starts: None, attention=Attention, columns=first_columns):
    def attend(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
               causal_alignment="top_left", scale=None, softcap=None, window=None):
        return packed_run(query, key, value, query_starts, key_starts, parts(query_starts, key_starts), attention, columns,
                          mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
                          causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)

    return attend


def slots(pool, pages, length):
    """The first `length` tokens of these pages of a pool (pages, page size, Hkv, E)."""
    return pool[pages].reshape(-1, *pool.shape[2:])[:length]


def gather_table(key_pool, value_pool, block_table, key_lengths):
    """Keys and values of every sequence: pools (pages, page size, Hkv, E)."""
    found = []
    size = key_pool.shape[1]
    for row, length in zip(block_table, key_lengths):
        pages = row[: -(-int(length) // size)]
        found.append((slots(key_pool, pages, int(length)), slots(value_pool, pages, int(length))))
    return found


def list_lengths(page_starts, last_page_length, size):
    counts = np.diff(page_starts)
    return np.where(counts > 0, (counts - 1) * size + last_page_length, 0)


def gather_list(key_pool, value_pool, page_starts, page_indices, last_page_length):
    found = []
    lengths = list_lengths(page_starts, last_page_length, key_pool.shape[1])
    for b, length in enumerate(lengths):
        pages = page_indices[page_starts[b] : page_starts[b + 1]]
        found.append((slots(key_pool, pages, int(length)), slots(value_pool, pages, int(length))))
    return found


def paged_run(query, key_pool, value_pool, parts, query_lengths=None, attention=Attention, **rest):
    """`parts(key_pool, value_pool)` gives keys and values of each sequence; pools are tokens first here."""
    query = np.asarray(query)
    refuse(not query.ndim == key_pool.ndim == value_pool.ndim == 4, "rank")
    refuse(key_pool.shape[:2] != value_pool.shape[:2], "pools of other pages")
    check_shared(query, key_pool, value_pool, 2)
    B, Hq, Sq, _ = query.shape
    lengths = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    refuse(lengths.shape != (B,), "query_lengths for another number of batch entries")
    refuse(bool(np.any(lengths < 0) or np.any(lengths > Sq)), "query_lengths out of range")
    found = parts(key_pool, value_pool)
    refuse(len(found) != B, "pages for another number of batch entries")
    output = np.zeros((B, Hq, Sq, value_pool.shape[3]), query.dtype)
    logsumexp = np.full((B, Hq, Sq), -np.inf, wider(query.dtype))
    for b, (keys, values) in enumerate(found):
        n = int(lengths[b])
        if n:
            out, lse = sequence(query[b, :, :n].swapaxes(0, 1), keys, values, attention, **rest)
            output[b, :, :n], logsumexp[b, :, :n] = out.swapaxes(0, 1), lse.swapaxes(0, 1)
    return {"output": output, "logsumexp": logsumexp}


def whole(array):
    return np.asarray(array).astype(np.int64)


def turned(pool, heads_first):
    return np.asarray(pool).swapaxes(1, 2) if heads_first else np.asarray(pool)


def table_operation(heads_first=False, gather=gather_table, attention=lambda size: Attention, turn=None):
    def attend(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
               alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
        if turn is not None:
            key_pool, value_pool = turn(query, key_pool), turn(query, value_pool)
        else:
            key_pool, value_pool = turned(key_pool, heads_first), turned(value_pool, heads_first)
        block_table, key_lengths = whole(block_table), whole(key_lengths)
        refuse(bool(np.any(key_lengths < 0)), "key_lengths below 0")
        return paged_run(query, key_pool, value_pool, lambda k, v: gather(k, v, block_table, key_lengths), query_lengths,
                         attention(key_pool.shape[1]), mask=mask, sinks=sinks, alibi_slopes=alibi_slopes,
                         is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)

    return attend


def list_operation(heads_first=False, gather=gather_list):
    def attend(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
               sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
               window=None):
        key_pool, value_pool = turned(key_pool, heads_first), turned(value_pool, heads_first)
        starts, indices, last = whole(page_starts), whole(page_indices), whole(last_page_length)
        return paged_run(query, key_pool, value_pool, lambda k, v: gather(k, v, starts, indices, last), query_lengths,
                         mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
                         causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)

    return attend


plain = operation()
packed = packed_operation()
paged = table_operation()
paged_heads_first = table_operation(heads_first=True)
paged_csr = list_operation()
paged_csr_heads_first = list_operation(heads_first=True)


def bshe(query, key, value, **rest):
    swap = lambda x: np.asarray(x).swapaxes(1, 2)
    for x in (query, key, value):
        refuse(np.asarray(x).ndim != 4, "rank")
    return {"output": swap(plain(swap(query), swap(key), swap(value), **rest)["output"])}

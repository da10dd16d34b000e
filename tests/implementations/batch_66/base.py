"""Right implementations of scaled dot-product attention after the pages, in parts that other files use."""

import types

import ml_dtypes
import numpy as np

QUANTIZED = tuple(np.dtype(name) for name in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
DTYPES = ("float64", "float32", "bfloat16", "float16")
HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
DEFAULTS = {
    "mask": None, "past_key": None, "past_value": None, "key_lengths": None, "query_lengths": None, "sinks": None,
    "alibi_slopes": None, "query_scale": None, "key_scale": None, "value_scale": None, "is_causal": False,
    "causal_alignment": "top_left", "scale": None, "softcap": None, "window": None, "output_dtype": None,
}


class Refused(ValueError):
    pass


def refuse(condition, why):
    if condition:
        raise Refused(why)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name)) if isinstance(name, str) and hasattr(ml_dtypes, name) else np.dtype(name)


def quantized(array):
    return array.dtype in QUANTIZED


def wide(array):
    return np.asarray(array).astype(np.float64)


def result_dtype(query, output_dtype):
    return dtype_of(output_dtype) if output_dtype is not None else query.dtype


def side_dtype(dtype):
    return np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)


def check_scale(scale, batch, heads):
    if scale is None:
        return
    scale = np.asarray(scale)
    refuse(scale.ndim > 2, "rank of a scale")
    for length, wanted in zip(scale.shape[::-1], (heads, batch)):
        refuse(length not in (1, wanted), "shape of a scale")


def spread_scale(scale, batch, heads):
    """A scale as (B, Hkv, 1, 1) in float64."""
    if scale is None:
        return np.ones((batch, heads, 1, 1))
    return np.broadcast_to(wide(scale), (batch, heads))[..., None, None]


def check_lengths(lengths, batch, most, name):
    if lengths is None:
        return
    lengths = np.asarray(lengths)
    refuse(lengths.shape != (batch,), f"shape of {name}")
    refuse(lengths.size and (int(lengths.min()) < 0 or int(lengths.max()) > most), f"range of {name}")


def check_mask(mask, shape):
    if mask is None:
        return
    refuse(mask.dtype.kind in "iu", "a mask of integers")
    refuse(not 2 <= mask.ndim <= 4, "rank of the mask")
    refuse(mask.shape[-1] != shape[-1], "columns of the mask")
    for length, wanted in zip(mask.shape[::-1], shape[::-1]):
        refuse(length not in (1, wanted), "shape of the mask")


def check(a):
    query, key, value = a["query"], a["key"], a["value"]
    for array in (query, key, value):
        refuse(array.ndim != 4, "rank")
    batch, heads, queries, width = query.shape
    refuse(width == 0, "queries without features")
    refuse(key.shape[3] != width, "width")
    refuse(key.shape[0] != batch or value.shape[0] != batch, "batch")
    kv_heads, keys = key.shape[1:3]
    refuse(value.shape[1] != kv_heads, "heads of key and value")
    refuse(heads != 0 if kv_heads == 0 else heads % kv_heads != 0, "grouped heads")
    refuse(value.shape[2] != keys, "length of key and value")
    past = 0
    refuse((a["past_key"] is None) != (a["past_value"] is None), "half a past")
    if a["past_key"] is not None:
        past_key, past_value = a["past_key"], a["past_value"]
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank of the past")
        refuse(past_key.shape[0] != batch or past_value.shape[0] != batch, "batch of the past")
        refuse(past_key.shape[1] != kv_heads or past_value.shape[1] != kv_heads, "heads of the past")
        refuse(past_key.shape[3] != width or past_value.shape[3] != value.shape[3], "width of the past")
        past = past_key.shape[2]
        refuse(past_value.shape[2] != past, "length of the past")
        refuse(a["key_lengths"] is not None or a["query_lengths"] is not None, "past and lengths")
    check_lengths(a["key_lengths"], batch, keys, "key_lengths")
    check_lengths(a["query_lengths"], batch, queries, "query_lengths")
    check_mask(a["mask"], (batch, heads, queries, past + keys))
    for name in ("query_scale", "key_scale", "value_scale"):
        check_scale(a[name], batch, kv_heads)
    check_attributes(a, heads)


def check_attributes(a, heads):
    for name in ("sinks", "alibi_slopes"):
        refuse(a[name] is not None and np.asarray(a[name]).shape != (heads,), f"shape of {name}")
    refuse(a["causal_alignment"] not in ("top_left", "bottom_right"), "alignment")
    refuse(a["softcap"] is not None and a["softcap"] < 0, "softcap")
    if a["window"] is not None:
        refuse(len(a["window"]) != 2, "window")
        refuse(any(side is not None and side < 0 for side in a["window"]), "window")


def prepare(a):
    """Check the arguments, prepend the past, dequantize, widen and place the queries."""
    a = DEFAULTS | a
    check(a)
    query, key, value = a["query"], a["key"], a["value"]
    s = types.SimpleNamespace(**{name: a[name] for name in DEFAULTS})
    s.raw_query = query
    s.batch, s.heads, s.queries, s.width = query.shape
    s.kv_heads, s.new_keys = key.shape[1:3]
    s.group = s.heads // s.kv_heads if s.kv_heads else 1
    s.dtype = result_dtype(query, a["output_dtype"])
    s.past = 0 if a["past_key"] is None else a["past_key"].shape[2]
    s.raw_key = key.copy() if a["past_key"] is None else np.concatenate([a["past_key"], key], axis=2)
    s.raw_value = value.copy() if a["past_key"] is None else np.concatenate([a["past_value"], value], axis=2)
    s.keys = s.past + s.new_keys
    s.q, s.k, s.v = wide(query), wide(s.raw_key), wide(s.raw_value)
    with np.errstate(all="ignore"):
        if quantized(query):
            s.q = s.q * np.repeat(spread_scale(a["query_scale"], s.batch, s.kv_heads), s.group, axis=1)
        if quantized(key):
            s.k = s.k * spread_scale(a["key_scale"], s.batch, s.kv_heads)
        if quantized(value):
            s.v = s.v * spread_scale(a["value_scale"], s.batch, s.kv_heads)
    s.factor = 1 / np.sqrt(s.width) if a["scale"] is None else float(a["scale"])
    everything = lambda lengths, all_of_them: (  # noqa: E731
        np.full(s.batch, all_of_them) if lengths is None else np.asarray(lengths).astype(np.int64)
    )
    s.length, s.count = everything(a["key_lengths"], s.keys), everything(a["query_lengths"], s.queries)
    s.offset = s.length - s.count if s.causal_alignment == "bottom_right" else np.full(s.batch, s.past)
    s.allowed = s.distance = s.scores = s.sink_rows = None
    return s


def positions(s):
    """p of every query (B, 1, Sq, 1) and j (K)."""
    return (s.offset[:, None] + np.arange(s.queries))[:, None, :, None], np.arange(s.keys)


def structure(s):
    """What lengths, causality and the window leave (B, 1, Sq, K)."""
    p, j = positions(s)
    allowed = np.broadcast_to(j < s.length[:, None, None, None], (s.batch, 1, s.queries, s.keys))
    if s.is_causal:
        allowed = allowed & (j <= p)
    if s.window is not None:
        left, right = s.window
        if left is not None:
            allowed = allowed & (j >= p - int(left))
        if right is not None:
            allowed = allowed & (j <= p + int(right))
    return allowed


def with_mask(s, allowed):
    if s.mask is not None:
        allowed = allowed & (s.mask if s.mask.dtype == bool else wide(s.mask) != -np.inf)
    return np.broadcast_to(allowed, (s.batch, s.heads, s.queries, s.keys))


def default_distance(s):
    p, j = positions(s)
    return np.abs(p - j).astype(np.float64)


def find_logits(s):
    """Scores, logits and the keys that may be attended, as far as they are not there yet."""
    with np.errstate(all="ignore"):
        if s.scores is None:
            s.scores = s.q @ np.repeat(s.k, s.group, axis=1).swapaxes(2, 3) * s.factor
        logits = s.scores
        if s.softcap:
            logits = s.softcap * np.tanh(logits / s.softcap)
        if s.alibi_slopes is not None:
            distance = default_distance(s) if s.distance is None else s.distance
            logits = logits - wide(s.alibi_slopes)[:, None, None] * distance
        if s.mask is not None and s.mask.dtype != bool:
            logits = logits + wide(s.mask)
        if s.allowed is None:
            s.allowed = with_mask(s, structure(s))
        s.logits = np.where(s.allowed, logits, -np.inf)
    return s


def sinks_of_rows(s):
    if s.sink_rows is None and s.sinks is not None:
        s.sink_rows = np.broadcast_to(wide(s.sinks)[:, None], (s.batch, s.heads, s.queries))
    return s.sink_rows


def softmax(logits, allowed, sink_rows):
    """Weights and logsumexp."""
    with np.errstate(all="ignore"):
        most = np.max(logits, axis=-1, initial=-np.inf)
        if sink_rows is not None:
            most = np.maximum(most, sink_rows)
        base = np.where(np.isneginf(most), 0.0, most)
        exponentials = np.where(allowed, np.exp(logits - base[..., None]), 0.0)
        total = exponentials.sum(axis=-1)
        if sink_rows is not None:
            total = total + np.exp(sink_rows - base)
        weights = np.where(allowed & (total != 0)[..., None], exponentials / total[..., None], 0.0)
        return weights, np.log(total) + base


def weigh(weights, allowed, value):
    """Sum of the values (B, Hq, K, Ev) with their weights; what is excluded has no effect."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(value)
        output = weights @ np.where(finite, value, 0.0)
        if not finite.all():
            bad = np.where(finite, 0.0, value)
            for key in np.nonzero(~finite.all(axis=(0, 1, 3)))[0]:
                part = weights[..., key, None] * bad[:, :, None, key, :]
                part = np.where(finite[:, :, None, key, :], 0.0, part)
                output = output + np.where(allowed[..., key, None], part, 0.0)
        return output


def results(s, output, logsumexp, weights=None):
    side = side_dtype(s.dtype)
    with np.errstate(all="ignore"):
        found = {"output": output.astype(s.dtype)}
        if weights is not None:
            found["weights"] = weights.astype(side)
        found["logsumexp"] = logsumexp.astype(side)
        found["scores"] = s.scores.astype(side)
        found["logits"] = s.logits.astype(side)
        found["present_key"] = (s.k if quantized(s.raw_key) else s.raw_key).astype(s.dtype)
        found["present_value"] = (s.v if quantized(s.raw_value) else s.raw_value).astype(s.dtype)
    return found


def finish(s):
    find_logits(s)
    weights, logsumexp = softmax(s.logits, s.allowed, sinks_of_rows(s))
    output = weigh(weights, s.allowed, np.repeat(s.v, s.group, axis=1))
    return results(s, output, logsumexp, weights)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return finish(prepare(locals()))


# Layouts of serving


def first_columns(mask, length):
    return None if mask is None else mask[..., :length]


def one_sequence(a, query, key, value, length, count, columns=first_columns):
    """The state of one sequence, from query (Sq, Hq, E), key and value (L, Hkv, ·)."""
    shared = {name: a[name] for name in DEFAULTS if name in a}
    shared["mask"] = columns(a.get("mask"), length)
    shared["key_lengths"] = None
    shared["query_lengths"] = None if count is None else np.array([count])
    heads_first = [array.swapaxes(0, 1)[None] for array in (query, key, value)]
    return prepare(dict(zip(("query", "key", "value"), heads_first)) | shared)


def check_flat_mask(mask, most):
    if mask is not None:
        refuse(mask.dtype.kind in "iu" or not 2 <= mask.ndim <= 4, "mask")
        refuse(mask.shape[-2] != 1 or (mask.ndim == 4 and mask.shape[0] != 1), "mask with batch entries or queries")
        refuse(mask.shape[-1] < most, "columns of the mask")


def check_packed(a):
    query, key, value = a["query"], a["key"], a["value"]
    starts = [np.asarray(a[name]).astype(np.int64) for name in ("query_starts", "key_starts")]
    for array in (query, key, value):
        refuse(array.ndim != 3, "rank")
    refuse(key.shape[0] != value.shape[0] or key.shape[1] != value.shape[1], "key and value")
    refuse(key.shape[2] != query.shape[2], "width")
    refuse(starts[0].shape != starts[1].shape or starts[0].ndim != 1 or starts[0].size < 1, "starts")
    for begin, array in zip(starts, (query, key)):
        refuse(begin[0] != 0 or begin[-1] != array.shape[0] or (np.diff(begin) < 0).any(), "starts")
    heads, kv_heads = query.shape[1], key.shape[1]
    refuse(heads != 0 if kv_heads == 0 else heads % kv_heads != 0, "grouped heads")
    check_attributes(DEFAULTS | a, heads)
    check_flat_mask(a.get("mask"), int(np.diff(starts[1]).max(initial=0)))
    return starts


def packed(a, rows=None, columns=first_columns, adjust=lambda s, b: None, after=lambda s, b, found: None):
    """`rows` gives the rows of the queries and of the keys of sequence b."""
    starts = check_packed(a)
    query, key, value = a["query"], a["key"], a["value"]
    if rows is None:
        rows = lambda b: [np.arange(begin[b], begin[b + 1]) for begin in starts]  # noqa: E731
    output = np.zeros(query.shape[:2] + value.shape[2:], query.dtype)
    logsumexp = np.full(query.shape[:2], -np.inf, side_dtype(query.dtype))
    for b in range(len(starts[0]) - 1):
        of_query, of_key = rows(b)
        s = one_sequence(a, query[of_query], key[of_key], value[of_key], len(of_key), None, columns)
        adjust(s, b)
        found = finish(s)
        after(s, b, found)
        output[of_query] = found["output"][0].swapaxes(0, 1)
        logsumexp[of_query] = found["logsumexp"][0].swapaxes(0, 1)
    return {"output": output, "logsumexp": logsumexp}


def check_pools(a, heads_first):
    """Query and pools, tokens before heads."""
    query, keys, values = a["query"], a["key_pool"], a["value_pool"]
    for array in (query, keys, values):
        refuse(array.ndim != 4, "rank")
    if heads_first:
        keys, values = keys.swapaxes(1, 2), values.swapaxes(1, 2)
    refuse(keys.shape[:3] != values.shape[:3], "pools")
    refuse(keys.shape[3] != query.shape[3], "width")
    heads, kv_heads = query.shape[1], keys.shape[2]
    refuse(heads != 0 if kv_heads == 0 else heads % kv_heads != 0, "grouped heads")
    check_lengths(a.get("query_lengths"), query.shape[0], query.shape[2], "query_lengths")
    check_attributes(DEFAULTS | a, heads)
    return query, keys, values


def pages_of_table(a, batch, size):
    table, lengths = np.asarray(a["block_table"]), np.asarray(a["key_lengths"])
    refuse(table.ndim != 2 or table.shape[0] != batch, "block_table")
    check_lengths(lengths, batch, table.shape[1] * size, "key_lengths")
    lengths = lengths.astype(np.int64)
    return [table[b, : -(-lengths[b] // size)] for b in range(batch)], lengths


def pages_of_list(a, batch, size):
    starts, indices = np.asarray(a["page_starts"]).astype(np.int64), np.asarray(a["page_indices"])
    last = np.asarray(a["last_page_length"]).astype(np.int64)
    refuse(starts.shape != (batch + 1,) or last.shape != (batch,), "lists")
    counts = np.diff(starts)
    refuse((counts < 0).any() or starts[-1] > indices.size, "page_starts")
    refuse(((counts > 0) & ((last < 1) | (last > size))).any(), "last_page_length")
    lengths = np.where(counts > 0, (counts - 1) * size + last, 0)
    return [indices[starts[b] : starts[b + 1]] for b in range(batch)], lengths


def gather(pool, pages, length):
    tokens = pool[np.asarray(pages).astype(np.int64)]
    return tokens.reshape((len(pages) * pool.shape[1],) + pool.shape[2:])[:length]


def paged(a, csr=False, heads_first=False, find_pages=None, adjust=lambda s, b: None, pools=None, run=finish):
    query, keys, values = check_pools(a, heads_first)
    batch, size = query.shape[0], keys.shape[1]
    find_pages = find_pages or (pages_of_list if csr else pages_of_table)
    pages, lengths = find_pages(a, batch, size)
    check_flat_mask(a.get("mask"), int(np.max(lengths, initial=0)))
    if pools is not None:
        keys, values = pools(keys, values, pages, lengths)
    output = np.zeros(query.shape[:3] + values.shape[3:], query.dtype)
    logsumexp = np.full(query.shape[:3], -np.inf, side_dtype(query.dtype))
    for b in range(batch):
        length = int(lengths[b])
        count = None if a.get("query_lengths") is None else int(np.asarray(a["query_lengths"])[b])
        of_key, of_value = gather(keys, pages[b], length), gather(values, pages[b], length)
        s = one_sequence(a, query[b].swapaxes(0, 1), of_key, of_value, length, count)
        adjust(s, b)
        found = run(s)
        output[b], logsumexp[b] = found["output"][0], found["logsumexp"][0]
    return {"output": output, "logsumexp": logsumexp}

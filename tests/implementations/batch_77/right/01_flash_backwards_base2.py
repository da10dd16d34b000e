"""Online softmax in base 2: key tiles of 11, from the last key to the first, with a running mean."""

import math

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {
    "logsumexp_base": "2",
    "empty_logsumexp": "plus_infinity",
    "fully_masked_row": "nan",
    "no_keys": "nan",
    "half_precision_grade": "fused",
}

LOG2E = 1 / math.log(2)
ROWS, COLUMNS = 13, 11


def _check(query, key, value, past_key, past_value, mask, key_lengths, query_lengths):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("rank 4 is needed")
    batch, heads, rows, width = query.shape
    if (past_key is None) != (past_value is None):
        raise ValueError("half a past")
    if past_key is not None:
        if past_key.ndim != 4 or past_value.ndim != 4:
            raise ValueError("rank 4 is needed")
        if past_key.shape[:2] != key.shape[:2] or past_value.shape[:2] != value.shape[:2]:
            raise ValueError("the past has another batch or other heads")
        if past_key.shape[3] != width or past_value.shape[3] != value.shape[3]:
            raise ValueError("the past has another width")
        if past_key.shape[2] != past_value.shape[2]:
            raise ValueError("past keys and values differ in length")
    if key.shape[3] != width:
        raise ValueError("query and key differ in width")
    if key.shape[0] != batch or value.shape[0] != batch:
        raise ValueError("batch sizes differ")
    if key.shape[1] != value.shape[1] or (heads if key.shape[1] == 0 else heads % key.shape[1]):
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in length")
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, rows)):
        if lengths is not None:
            if lengths.shape != (batch,):
                raise ValueError("a length for each batch entry is needed")
            if (lengths < 0).any() or (lengths > most).any():
                raise ValueError("a length is out of range")
    keys = key.shape[2] + (0 if past_key is None else past_key.shape[2])
    if mask is not None:
        full = (batch, heads, rows, keys)
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != keys:
            raise ValueError("the mask does not fit")
        if any(a not in (1, b) for a, b in zip(mask.shape[::-1], full[::-1])):
            raise ValueError("the mask does not fit")


def _weigh(weights, allowed, value):
    """Weights times values; what is excluded is never multiplied."""
    if np.isfinite(value).all():
        return weights @ value
    return np.where(allowed[..., None], weights[..., None] * value, 0).sum(axis=-2)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
    window=None,
):
    key_lengths, query_lengths = (
        None if lengths is None else np.asarray(lengths).astype(np.int64) for lengths in (key_lengths, query_lengths)
    )
    _check(query, key, value, past_key, past_value, mask, key_lengths, query_lengths)
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    batch, heads, rows, width = query.shape
    keys, value_width = key.shape[2], value.shape[3]
    carried = np.float64 if query.dtype == np.float64 else np.float32
    if scale is None:
        scale = 1 / math.sqrt(width)
    if mask is not None:
        mask = np.broadcast_to(mask, (batch, heads, rows, keys))
    left, right = window if window is not None else (None, None)
    if is_causal:
        right = 0 if right is None else min(right, 0)
    output = np.zeros((batch, heads, rows, value_width), carried)
    logsumexp = np.zeros((batch, heads, rows), carried)
    for b in range(batch):
        count = keys if key_lengths is None else int(key_lengths[b])
        asked = rows if query_lengths is None else int(query_lengths[b])
        first = past if causal_alignment == "top_left" else count - asked
        for h in range(heads):
            g = h // (heads // key.shape[1])
            for start in range(0, asked, ROWS):
                stop = min(start + ROWS, asked)
                place = np.arange(start, stop)[:, None] + first
                q = query[b, h, start:stop].astype(carried)
                n = stop - start
                if sinks is None:
                    top, total = np.full(n, -np.inf, carried), np.zeros(n, carried)
                else:
                    top = np.full(n, sinks[h], carried) * carried(LOG2E)
                    total = np.ones(n, carried) if sinks[h] != -np.inf else np.zeros(n, carried)
                mean = np.zeros((n, value_width), carried)
                seen = np.zeros(n, bool)
                for end in range(count, 0, -COLUMNS):
                    begin = max(end - COLUMNS, 0)
                    j = np.arange(begin, end)[None, :]
                    allowed = np.ones((n, end - begin), bool)
                    if left is not None:
                        allowed &= j >= place - left
                    if right is not None:
                        allowed &= j <= place + right
                    if mask is not None:
                        tile = mask[b, h, start:stop, begin:end]
                        allowed &= tile if tile.dtype == bool else tile != -np.inf
                    if not allowed.any():
                        continue
                    seen |= allowed.any(axis=1)
                    with np.errstate(all="ignore"):
                        s = q @ key[b, g, begin:end].astype(carried).T * scale
                        if softcap:
                            s = (np.tanh(s.astype(np.float64) / softcap) * softcap).astype(carried)
                        if alibi_slopes is not None:
                            s = s - carried(alibi_slopes[h]) * np.abs(place - j).astype(carried)
                        if mask is not None and mask.dtype != bool:
                            s = s + np.where(allowed, tile, 0).astype(carried)
                        s = np.where(allowed, s * carried(LOG2E), carried(-np.inf))
                        higher = np.maximum(top, s.max(axis=1))
                        shift = np.where(higher == -np.inf, 0, higher)
                        p = np.where(allowed, np.exp2(s - shift[:, None]), 0)
                        old = np.exp2(top - shift) * total
                        new = old + p.sum(axis=1)
                        by = np.where(new == 0, 1, new)
                        mean = mean * (old / by)[:, None] + _weigh(
                            p / by[:, None], allowed, value[b, g, begin:end].astype(carried)
                        )
                        top, total = higher, new
                with np.errstate(all="ignore"):
                    found = np.where(top == -np.inf, -np.inf, top + np.log2(total))
                if sinks is None:
                    mean[~seen] = np.nan
                    found = np.where(seen, found, np.inf)
                output[b, h, start:stop] = mean
                logsumexp[b, h, start:stop] = found
    with np.errstate(all="ignore"):
        return {"output": output.astype(query.dtype), "logsumexp": logsumexp}

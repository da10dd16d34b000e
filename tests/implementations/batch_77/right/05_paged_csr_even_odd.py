"""Lists of pages with heads before tokens: even pages first, odd ones after, a page at a time, in float64 inside."""

import math

import numpy as np

layout = "paged_csr_heads_first"
dtypes = ("float32", "float16", "bfloat16")
conventions = {"half_precision_grade": "fused", "input_checks": "lenient"}
without = ("empty_heads",)


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    batch, heads, rows, width = query.shape
    _, groups, page_size, _ = key_pool.shape
    if key_pool.shape[3] != width:
        raise ValueError("widths differ")
    if value_pool.shape[1] != groups or groups == 0 or heads % groups:
        raise ValueError("heads do not fit")
    factor = 1 / math.sqrt(width) if scale is None else float(scale)
    left, right = (None, None) if window is None else window
    share = heads // groups
    output = np.full((batch, heads, rows, value_pool.shape[3]), np.nan)
    logsumexp = np.full((batch, heads, rows), np.nan)
    slopes = None if alibi_slopes is None else alibi_slopes.astype(np.float64).reshape(groups, share, 1, 1)
    for b in range(batch):
        pages = [int(x) for x in page_indices[int(page_starts[b]) : int(page_starts[b + 1])]]
        length = (len(pages) - 1) * page_size + int(last_page_length[b]) if pages else 0
        asked = rows if query_lengths is None else int(query_lengths[b])
        place = np.arange(asked) + (0 if causal_alignment == "top_left" else length - asked)
        q = query[b, :, :asked].astype(np.float64).reshape(groups, share, asked, width)
        top = np.full((groups, share, asked), -np.inf)
        total = np.zeros_like(top)
        sum_of_values = np.zeros((groups, share, asked, value_pool.shape[3]))
        if sinks is not None:
            top[:] = sinks.astype(np.float64).reshape(groups, share, 1)
            total[:] = np.where(np.isneginf(top), 0.0, 1.0)
        for number in [*range(0, len(pages), 2), *range(1, len(pages), 2)]:
            filled = min(page_size, length - number * page_size)
            k = key_pool[pages[number], :, :filled].astype(np.float64)[:, None]
            v = value_pool[pages[number], :, :filled].astype(np.float64)[:, None]
            j = np.arange(filled) + number * page_size
            ahead = j[None, :] - place[:, None]
            allowed = np.ones(ahead.shape, bool)
            if is_causal:
                allowed &= ahead <= 0
            if left is not None:
                allowed &= ahead >= -left
            if right is not None:
                allowed &= ahead <= right
            with np.errstate(all="ignore"):
                x = (q @ k.swapaxes(-1, -2)) * factor
                if softcap:
                    x = np.tanh(x / softcap) * softcap
                if slopes is not None:
                    x = x - slopes * np.abs(ahead)
                x = np.where(allowed, x, -np.inf)
                higher = np.maximum(top, x.max(axis=-1, initial=-np.inf))
                shift = np.where(np.isneginf(higher), 0.0, higher)
                e = np.where(allowed, np.exp(x - shift[..., None]), 0.0)
                old = np.exp(top - shift)
                total = total * old + e.sum(axis=-1)
                if np.isfinite(v).all():
                    here = e @ v
                else:
                    here = np.where(allowed[..., None], e[..., None] * v[..., None, :, :], 0.0).sum(axis=-2)
                sum_of_values = sum_of_values * old[..., None] + here
                top = higher
        with np.errstate(all="ignore"):
            mean = sum_of_values / np.where(total == 0, 1.0, total)[..., None]
            output[b, :, :asked] = mean.reshape(heads, asked, value_pool.shape[3])
            logsumexp[b, :, :asked] = (np.where(np.isneginf(top), 0.0, top) + np.log(total)).reshape(heads, asked)
    with np.errstate(all="ignore"):
        result = np.asfortranarray(output.astype(query.dtype))
    result.flags.writeable = False
    return {"output": result, "logsumexp": logsumexp}

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    """A running maximum and a running sum over the pages, the last page first; the sink is where they begin."""
    checked = base.PagedHeadsFirst(
        query=query, key_pool=key_pool, value_pool=value_pool, page_starts=page_starts, page_indices=page_indices,
        last_page_length=last_page_length, query_lengths=query_lengths,
    )
    checked.check()
    query, keys, values = checked.query, checked.key_pool, checked.value_pool  # tokens first
    batch, heads, count, width = query.shape
    work = np.float64 if query.dtype == np.float64 else np.float32
    group = heads // checked.Hkv if heads else 1
    factor = work(1 / math.sqrt(width) if scale is None else scale)
    output = np.zeros((batch, heads, count, values.shape[3]), query.dtype)
    logsumexp = np.full((batch, heads, count), -np.inf, work)
    none, zero = work(-np.inf), work(0)
    if not heads:
        return {"output": output, "logsumexp": logsumexp}
    with np.errstate(all="ignore"):
        for b in range(batch):
            pages, length = checked.pages(b)
            ours = count if query_lengths is None else int(checked.query_lengths[b])
            place = (np.arange(count) + (0 if causal_alignment == "top_left" else length - ours))[None, :, None]
            q = query[b].astype(work).reshape(heads // group, group * count, width)
            top = np.full((heads, count, 1), none)
            if sinks is not None:
                top = np.broadcast_to(np.asarray(sinks).astype(work)[:, None, None], top.shape)
            total = np.where(np.isneginf(top), zero, work(1))
            sums = np.zeros((heads, count, values.shape[3]), work)
            for n in range(len(pages) - 1, -1, -1):
                j = np.arange(n * checked.size, min(length, (n + 1) * checked.size))
                k, v = (pool[pages[n], : len(j)].swapaxes(0, 1).astype(work) for pool in (keys, values))
                s = (q @ k.swapaxes(1, 2)).reshape(heads, count, len(j)) * factor
                if softcap:
                    s = np.tanh(s / work(softcap)) * work(softcap)
                if alibi_slopes is not None:
                    s = s - np.asarray(alibi_slopes).astype(work)[:, None, None] * np.abs(place - j).astype(work)
                may = np.ones(s.shape, bool)
                if is_causal:
                    may &= j <= place
                if window is not None and window[0] is not None:
                    may &= place - j <= window[0]
                if window is not None and window[1] is not None:
                    may &= j - place <= window[1]
                if mask is not None:
                    part = np.broadcast_to(base.columns(mask, length), (1, heads, 1, length))[0][:, :, j]
                    if part.dtype == bool:
                        may &= part
                    else:
                        may &= ~np.isneginf(part.astype(work))
                        s = s + part.astype(work)
                s = np.where(may, s, none)
                higher = np.maximum(top, s.max(axis=-1, keepdims=True))
                safe = np.where(np.isneginf(higher), zero, higher)
                old = np.where(np.isneginf(top), zero, np.exp(top - safe))
                powers = np.where(may, np.exp(s - safe), zero)
                wide = np.repeat(v, group, axis=0)
                if np.isfinite(wide).all():
                    new = powers @ wide
                else:
                    new = np.where(may[..., None], powers[..., None] * wide[:, None], zero).sum(axis=2)
                total = total * old + powers.sum(axis=-1, keepdims=True)
                sums = np.where(np.isneginf(top), zero, sums * old) + new
                top = higher
            safe = np.where(np.isneginf(top), zero, top)
            output[b] = (sums / np.where(total == 0, work(1), total)).astype(query.dtype)
            output[b][:, ours:] = 0
            logsumexp[b] = (np.log(total) + safe)[..., 0]
    return {"output": output, "logsumexp": logsumexp}

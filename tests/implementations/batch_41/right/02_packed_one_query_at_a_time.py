import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    """Each query gathers the keys that it may attend to, last key first, and nothing is masked."""
    checked = base.Packed(
        query=query, key=key, value=value, query_starts=query_starts, key_starts=key_starts, mask=mask
    )
    checked.check()
    query, key, value = checked.query, checked.key, checked.value
    work = np.float64 if query.dtype == np.float64 else np.float32
    tokens, heads, width = query.shape
    group = heads // key.shape[1] if heads else 1
    factor = work(1 / math.sqrt(width) if scale is None else scale)
    output = np.zeros((tokens, heads, value.shape[2]), query.dtype)
    logsumexp = np.full((tokens, heads), -np.inf, work)
    with np.errstate(all="ignore"):
        for rows, cols in checked.spans():
            if mask is not None:
                bias = np.broadcast_to(base.columns(mask, len(cols)), (1, heads, 1, len(cols)))[0, :, 0]
            for i, row in enumerate(rows):
                place = i if causal_alignment == "top_left" else i + len(cols) - len(rows)
                low, high = 0, len(cols) - 1
                if is_causal:
                    high = min(high, place)
                if window is not None:
                    low = low if window[0] is None else max(low, place - int(window[0]))
                    high = high if window[1] is None else min(high, place + int(window[1]))
                for head in range(heads):
                    seen = np.arange(high, low - 1, -1)
                    if mask is not None:
                        seen = seen[bias[head][seen] if bias.dtype == bool else ~np.isneginf(bias[head][seen].astype(work))]
                    k = key[cols[seen], head // group].astype(work)
                    logits = (k * query[row, head].astype(work)).sum(axis=1) * factor
                    if softcap:
                        logits = np.tanh(logits / work(softcap)) * work(softcap)
                    if alibi_slopes is not None:
                        logits = logits - np.asarray(alibi_slopes)[head].astype(work) * np.abs(seen - place).astype(work)
                    if mask is not None and bias.dtype != bool:
                        logits = logits + bias[head][seen].astype(work)
                    if sinks is not None:
                        logits = np.append(logits, np.asarray(sinks)[head].astype(work))
                    if not len(logits):
                        continue
                    top = logits.max()
                    top = work(0) if np.isneginf(top) else top
                    powers = np.exp(logits - top)
                    total = powers.sum()
                    logsumexp[row, head] = np.log(total) + top
                    if len(seen) and total != 0:
                        v = value[cols[seen], head // group].astype(work)
                        output[row, head] = ((powers[: len(seen)] / total) @ v).astype(query.dtype)
    return {"output": output, "logsumexp": logsumexp}

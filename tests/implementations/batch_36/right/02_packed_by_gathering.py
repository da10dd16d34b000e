import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def one_query(q, keys, values, p, h, mask, sinks, slopes, is_causal, factor, softcap, window, work):
    """No mask of truth values: the numbers of the keys that may be attended are gathered, and nothing else is touched."""
    first, last = 0, len(keys)
    if is_causal:
        last = min(last, p + 1)
    if window is not None:
        if window[0] is not None:
            first = max(first, p - window[0])
        if window[1] is not None:
            last = min(last, p + window[1] + 1)
    numbers = np.arange(first, max(first, last))
    if mask is not None:
        row = mask[h if mask.shape[0] > 1 else 0]
        numbers = numbers[row[numbers] if row.dtype == bool else row[numbers].astype(np.float64) != -np.inf]
    if not len(numbers):
        return np.zeros(values.shape[1], work), -np.inf if sinks is None else sinks[h]
    logits = np.einsum("je,e->j", keys[numbers].astype(work), q.astype(work)) * work(factor)
    if softcap:
        logits = work(softcap) * np.tanh(logits / work(softcap))
    if slopes is not None:
        logits = logits - work(slopes[h]) * np.abs(p - numbers).astype(work)
    if mask is not None and row.dtype != bool:
        logits = logits + row[numbers].astype(work)
    extra = [] if sinks is None else [work(sinks[h])]
    everything = np.append(logits, np.asarray(extra, work))
    order = np.argsort(everything)  # small powers first
    top = everything[order[-1]]
    powers = np.exp(everything - (0 if top == -np.inf else top))
    total = powers[order].sum()
    weights = powers[: len(numbers)] / (total if total != 0 else 1)
    return np.einsum("j,jf->f", weights, values[numbers].astype(work)), np.log(total) + top


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    base.refuse(not query.ndim == key.ndim == value.ndim == 3, "rank")
    base.refuse(key.shape[0] != value.shape[0], "key and value of different numbers of tokens")
    base.check_shared(query, key, value, 1)
    work = np.float64 if query.dtype == np.float64 else np.float32
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
    plain = lambda x: None if x is None else np.asarray(x).astype(np.float64)
    sinks, slopes = plain(sinks), plain(alibi_slopes)
    factor = query.shape[2] ** -0.5 if scale is None else scale
    group = query.shape[1] // key.shape[1] if key.shape[1] else 1
    output = np.zeros((*query.shape[:2], value.shape[2]), query.dtype)
    logsumexp = np.zeros(query.shape[:2], base.wider(query.dtype))
    with np.errstate(all="ignore"):
        for b in range(len(query_starts) - 1):
            (q0, q1), (k0, k1) = (map(int, starts[b : b + 2]) for starts in (query_starts, key_starts))
            for i in range(q1 - q0):
                p = i if causal_alignment == "top_left" else i + (k1 - k0) - (q1 - q0)
                for h in range(query.shape[1]):
                    out, lse = one_query(query[q0 + i, h], key[k0:k1, h // group], value[k0:k1, h // group], p, h, mask, sinks,
                                         slopes, is_causal, factor, softcap, window, work)
                    output[q0 + i, h] = out.astype(query.dtype)
                    logsumexp[q0 + i, h] = lse
    return {"output": output, "logsumexp": logsumexp}

"""Attention by hand: one query at a time, one key at a time, in Python numbers."""
import math

import numpy as np


def _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment):
    """Refuse what does not fit; give the number of past tokens."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise ValueError(f"{name} must have four axes")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if query.shape[3] != key.shape[3] or query.shape[3] == 0:
        raise ValueError("query and key differ in width")
    if key.shape[1] != value.shape[1] or key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in length")
    if causal_alignment not in ("top_left", "bottom_right") or (softcap is not None and softcap < 0):
        raise ValueError("bad attribute")
    if (past_key is None) != (past_value is None):
        raise ValueError("past key and past value come together")
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        if key_lengths is not None or query_lengths is not None:
            raise ValueError("past and lengths do not come together")
        if past_key.shape != key.shape[:2] + (past, key.shape[3]):
            raise ValueError("past key does not fit")
        if past_value.shape != value.shape[:2] + (past, value.shape[3]):
            raise ValueError("past value does not fit")
    if mask is not None:
        full = (query.shape[0], query.shape[1], query.shape[2], past + key.shape[2])
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != full[-1]:
            raise ValueError("mask does not fit")
        if any(have not in (1, want) for have, want in zip(mask.shape[::-1], full[::-1])):
            raise ValueError("mask does not broadcast")
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, query.shape[2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    return past


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    keys = key if past_key is None else np.concatenate([past_key, key], axis=2)
    values = value if past_value is None else np.concatenate([past_value, value], axis=2)
    batch, heads, queries, width = query.shape
    group = heads // keys.shape[1]
    tokens, wide = values.shape[2], values.shape[3]
    factor = 1 / math.sqrt(width) if scale is None else float(scale)
    limit = None if mask is None else np.broadcast_to(mask, (batch, heads, queries, tokens))

    output = np.zeros((batch, heads, queries, wide), query.dtype)
    weights = np.zeros((batch, heads, queries, tokens), query.dtype)
    logsumexp = np.zeros((batch, heads, queries), query.dtype)
    for b in range(batch):
        length = tokens if key_lengths is None else int(key_lengths[b])
        count = queries if query_lengths is None else int(query_lengths[b])
        for h in range(heads):
            k = [[float(x) for x in row] for row in keys[b, h // group]]
            v = [[float(x) for x in row] for row in values[b, h // group]]
            for i in range(queries):
                q = [float(x) for x in query[b, h, i]]
                place = i + past if causal_alignment == "top_left" else i + length - count
                seen, logits = [], []
                for j in range(length):
                    if is_causal and j > place:
                        continue
                    if window is not None and window[0] is not None and j < place - window[0]:
                        continue
                    if window is not None and window[1] is not None and j > place + window[1]:
                        continue
                    if limit is not None:
                        entry = limit[b, h, i, j]
                        if (not entry) if limit.dtype == bool else float(entry) == -math.inf:
                            continue
                    s = _dot(q, k[j]) * factor
                    if softcap is not None:
                        s = softcap * math.tanh(s / softcap) if softcap > 1e-12 else 0.0
                    if alibi_slopes is not None:
                        s -= float(alibi_slopes[h]) * abs(place - j)
                    if limit is not None and limit.dtype != bool:
                        s += float(limit[b, h, i, j])
                    seen.append(j)
                    logits.append(s)
                everything = list(logits)
                if sinks is not None:
                    everything.append(float(sinks[h]))
                if not everything:
                    logsumexp[b, h, i] = -math.inf
                    continue
                top = max(everything)
                if any(math.isnan(s) for s in everything) or top == math.inf:
                    top = math.nan
                shift = 0.0 if top == -math.inf else top
                total = math.fsum(math.exp(s - shift) for s in everything)
                logsumexp[b, h, i] = shift + math.log(total) if total else -math.inf
                for j, s in zip(seen, logits):
                    share = math.exp(s - shift) / total if total else 0.0
                    weights[b, h, i, j] = share
                    for e in range(wide):
                        output[b, h, i, e] += share * v[j][e]
    return output

dtypes = ("float64", "float32")

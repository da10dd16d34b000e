"""Every query gathers the keys that it may see, and nothing else is computed."""
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


def _seen(i, n_keys, position, row_mask, is_causal, window):
    """The numbers of the keys that a query may attend to."""
    lo, hi = 0, n_keys
    if is_causal:
        hi = min(hi, position + 1)
    if window is not None:
        if window[0] is not None:
            lo = max(lo, position - window[0])
        if window[1] is not None:
            hi = min(hi, position + window[1] + 1)
    seen = np.arange(lo, max(lo, hi))
    if row_mask is not None:
        chosen = row_mask[seen]
        seen = seen[chosen if chosen.dtype == bool else ~np.isneginf(chosen)]
    return seen


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    if past_key is not None:
        key, value = np.concatenate((past_key, key), 2), np.concatenate((past_value, value), 2)
    B, Hq, Sq, E = query.shape
    Hkv, T, Ev = value.shape[1:]
    real = np.promote_types(query.dtype, np.float32)
    scale = real.type(1 / np.sqrt(E) if scale is None else scale)
    table = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, T))
    output = np.zeros((B, Hq, Sq, Ev), query.dtype)
    weights = np.zeros((B, Hq, Sq, T), query.dtype)
    logsumexp = np.full((B, Hq, Sq), -np.inf, query.dtype)
    for b, h, i in np.ndindex(B, Hq, Sq):
        g = h * Hkv // Hq
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_queries = Sq if query_lengths is None else int(query_lengths[b])
        position = i + (past if causal_alignment == "top_left" else n_keys - n_queries)
        row_mask = None if table is None else table[b, h, i]
        seen = _seen(i, n_keys, position, row_mask, is_causal, window)
        if seen.size == 0:
            if sinks is not None:
                logsumexp[b, h, i] = sinks[h]
            continue
        with np.errstate(all="ignore"):
            s = (key[b, g][seen].astype(real) @ query[b, h, i].astype(real)) * scale
            if softcap:
                s = np.tanh(s / real.type(softcap)) * real.type(softcap)
            if alibi_slopes is not None:
                s = s - real.type(alibi_slopes[h]) * np.abs(seen - position).astype(real)
            if row_mask is not None and row_mask.dtype != bool:
                s = s + row_mask[seen]
            top = s.max() if sinks is None else max(s.max(), sinks[h])
            top = np.nan if np.isnan(s).any() else top
            e = np.exp(s - top)
            total = e.sum()
            if sinks is not None:
                total = total + np.exp(sinks[h] - top)
            w = e / total
            weights[b, h, i, seen] = w
            output[b, h, i] = w @ value[b, g][seen].astype(real)
            logsumexp[b, h, i] = top + np.log(total)
    return {"output": output, "weights": weights, "logsumexp": logsumexp, "present_key": key, "present_value": value}

dtypes = ("float64", "float32")

"""Scores are kept as (keys, queries), the softmax runs down the columns, the sink is one more key with a value of zeros."""
import numpy as np

conventions = {"masked_nonfinite": "propagates", "no_keys": "zero"}


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


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, T, Ev = value.shape[1:]
    real = np.promote_types(query.dtype, np.float32)
    bias = np.zeros((B, Hq, T, Sq), real)
    if mask is not None:
        numbers = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
        bias += np.swapaxes(np.broadcast_to(numbers, (B, Hq, Sq, T)), 2, 3).astype(real)
    j = np.arange(T)[:, None]
    for b in range(B):
        length = T if key_lengths is None else key_lengths[b]
        count = Sq if query_lengths is None else query_lengths[b]
        p = np.arange(Sq)[None, :] + (past if causal_alignment == "top_left" else length - count)
        out_of_sight = (j >= length) | np.zeros((T, Sq), bool)
        if is_causal:
            out_of_sight |= j > p
        if window is not None:
            left, right = window
            if left is not None:
                out_of_sight |= j < p - left
            if right is not None:
                out_of_sight |= j > p + right
        if alibi_slopes is not None:
            bias[b] -= alibi_slopes.astype(real)[:, None, None] * np.abs(j - p).astype(real)
        bias[b] += np.where(out_of_sight, -np.inf, 0).astype(real)
    factor = real.type(E ** -0.5 if scale is None else scale)
    output = np.zeros((B, Hq, Sq, Ev), query.dtype)
    weights = np.zeros((B, Hq, Sq, T), query.dtype)
    logsumexp = np.zeros((B, Hq, Sq), query.dtype)
    with np.errstate(all="ignore"):
        for h in reversed(range(Hq)):
            g = h // (Hq // Hkv)
            for b in reversed(range(B)):
                s = (key[b, g].astype(real) @ query[b, h].astype(real).T) * factor
                if softcap:
                    s = real.type(softcap) * np.tanh(s / real.type(softcap))
                s = s + bias[b, h]
                v = value[b, g].astype(real)
                if sinks is not None:
                    s = np.concatenate([np.full((1, Sq), sinks[h], real), s])
                    v = np.concatenate([np.zeros((1, Ev), real), v])
                top = s.max(axis=0, initial=-np.inf)
                top = np.where(np.isneginf(top), 0, top)
                e = np.exp(s - top)
                total = e.sum(axis=0)
                w = e / np.where(total == 0, 1, total)
                output[b, h] = (v.T @ w).T
                weights[b, h] = w[w.shape[0] - T:].T
                logsumexp[b, h] = np.log(total) + top
    return {"output": output, "weights": weights, "logsumexp": logsumexp, "present_key": key, "present_value": value}

dtypes = ("float64", "float32")

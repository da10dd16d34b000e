"""The query heads of one key head are stacked as rows of one matrix (head after head), so that keys are read once."""
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


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    rep = Hq // Hkv
    real = np.promote_types(query.dtype, np.float32)
    scale = 1 / float(E) ** 0.5 if scale is None else scale
    before, after = (None, None) if window is None else (window[0], window[1])
    if is_causal:
        after = 0 if after is None else min(0, after)
    column = np.arange(Sk)
    out = np.empty((B, Hq, Sq, Ev), query.dtype)
    lse = np.empty((B, Hq, Sq), query.dtype)
    for b in range(B):
        length = Sk if key_lengths is None else int(key_lengths[b])
        count = Sq if query_lengths is None else int(query_lengths[b])
        offset = past if causal_alignment == "top_left" else length - count
        for g in range(Hkv):
            heads = slice(g * rep, (g + 1) * rep)
            row = np.arange(rep * Sq)
            token, head = row % Sq if Sq else row, g * rep + (row // Sq if Sq else row)
            rows = query[b, heads].astype(real).reshape(rep * Sq, E)
            position = token + offset
            with np.errstate(all="ignore"):
                s = rows @ key[b, g].astype(real).T * real.type(scale)
                if softcap:
                    s = real.type(softcap) * np.tanh(s / real.type(softcap))
                reach = column - position[:, None]
                keep = np.broadcast_to(column < length, s.shape).copy()
                if before is not None:
                    keep &= reach >= -before
                if after is not None:
                    keep &= reach <= after
                if alibi_slopes is not None:
                    s = s - alibi_slopes[head].astype(real)[:, None] * np.abs(reach).astype(real)
                if mask is not None:
                    block = np.broadcast_to(mask, (B, Hq, Sq, Sk))[b, heads].reshape(rep * Sq, Sk)
                    if mask.dtype == bool:
                        keep &= block
                    else:
                        s = s + block
                        keep &= ~np.isneginf(block)
                s = np.where(keep, s, -np.inf)
                top = s.max(axis=1, initial=-np.inf)
                if sinks is not None:
                    top = np.maximum(top, sinks[head])
                top = np.where(np.isneginf(top), 0, top)
                p = np.exp(s - top[:, None])
                z = p.sum(axis=1)
                if sinks is not None:
                    z = z + np.exp(sinks[head] - top)
                v = value[b, g].astype(real)
                if np.isfinite(v).all():
                    o = p @ v
                else:
                    o = np.where(keep[:, :, None], p[:, :, None] * v, 0).sum(axis=1)
                o = o / np.where(z == 0, 1, z)[:, None]
                e = np.log(np.where(z == 0, 1, z)) + top
            out[b, heads] = o.reshape(rep, Sq, Ev)
            lse[b, heads] = e.reshape(rep, Sq)
    return {"output": out, "logsumexp": lse, "present_key": key, "present_value": value}

dtypes = ("float64", "float32")

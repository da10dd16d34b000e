"""Grouped attention by einsum, with one table of distances for causality, window and ALiBi."""
import numpy as np

# masked values meet a weight of zero, and zero times NaN is NaN
conventions = {"masked_nonfinite": "propagates"}


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
        key = np.concatenate((past_key, key), axis=2)
        value = np.concatenate((past_value, value), axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    rep = Hq // Hkv
    kind = np.promote_types(query.dtype, np.float32)
    q = query.reshape(B, Hkv, rep, Sq, E).astype(kind)
    scores = np.einsum("bgrie,bgje->bgrij", q, key.astype(kind)).reshape(B, Hq, Sq, Sk)
    scores = scores * (E ** -0.5 if scale is None else scale)

    L = np.full(B, Sk) if key_lengths is None else np.array(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.array(query_lengths)
    first = np.full(B, past) if causal_alignment == "top_left" else L - N
    position = first[:, None] + np.arange(Sq)
    distance = position[:, :, None] - np.arange(Sk)

    keep = np.arange(Sk) < L[:, None, None]
    if is_causal:
        keep = keep & (distance >= 0)
    if window is not None and window[0] is not None:
        keep = keep & (distance <= window[0])
    if window is not None and window[1] is not None:
        keep = keep & (distance >= -window[1])
    keep = keep[:, None] & np.ones((Hq, Sq, 1), bool)

    logits = scores
    if softcap:
        logits = softcap * np.tanh(logits / softcap)
    if alibi_slopes is not None:
        logits = logits - alibi_slopes[:, None, None] * np.abs(distance)[:, None]
    if mask is not None and mask.dtype == bool:
        keep = keep & mask
    elif mask is not None:
        logits = logits + mask
        keep = keep & ~np.isneginf(mask)
    logits = np.where(keep, logits, -np.inf)

    top = logits.max(axis=-1, initial=-np.inf)
    if sinks is not None:
        top = np.maximum(top, sinks[:, None])
    shift = np.where(top == -np.inf, 0, top)
    weights = np.exp(logits - shift[..., None])
    total = weights.sum(axis=-1)
    if sinks is not None:
        total = total + np.exp(sinks[:, None] - shift)
    weights = weights / np.where(total == 0, 1, total)[..., None]
    out = np.einsum("bgrij,bgjv->bgriv", weights.reshape(B, Hkv, rep, Sq, Sk), value.astype(kind))
    out = out.reshape(B, Hq, Sq, Ev).astype(query.dtype)
    with np.errstate(divide="ignore"):
        logsumexp = np.log(total) + shift
    return {"output": out, "weights": weights.astype(query.dtype), "logsumexp": logsumexp.astype(query.dtype),
            "scores": scores.astype(query.dtype), "logits": logits.astype(query.dtype),
            "present_key": key, "present_value": value}

dtypes = ("float64", "float32")

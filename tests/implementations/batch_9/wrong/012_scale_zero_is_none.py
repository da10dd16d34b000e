import math

import numpy as np


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    for lengths, most in ((key_lengths, key.shape[-2]), (query_lengths, query.shape[-2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    if past_key is not None and key.ndim == value.ndim == 4 and (
        past_key.shape[:2] != key.shape[:2]
        or past_key.shape[3] != key.shape[3]
        or past_value.shape != (*past_key.shape[:3], value.shape[3])
    ):
        raise ValueError("past does not fit")
    for x in (query, key, value):
        if x.ndim != 4:
            raise ValueError("query, key and value need four axes")
    if query.shape[3] != key.shape[3]:
        raise ValueError("query and key differ in width")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if key.shape[1] != value.shape[1] or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in tokens")
    if mask is not None:
        want = query.shape[:3] + (key.shape[2] + (0 if past_key is None else past_key.shape[2]),)
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != want[-1]:
            raise ValueError("mask does not fit")
        np.broadcast_to(mask, want)
    dtype = query.dtype
    work = np.float64 if dtype == np.float64 else np.float32
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        key = np.concatenate((past_key, key), axis=-2)
        value = np.concatenate((past_value, value), axis=-2)
    present_key, present_value = key, value
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    group = Hq // Hkv
    factor = scale or 1.0 / math.sqrt(E)

    k = np.repeat(key.astype(work), group, axis=1)
    v = np.repeat(value.astype(work), group, axis=1)
    scores = np.einsum("bhqe,bhke->bhqk", query.astype(work), k) * work(factor)

    valid_k = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths, dtype=np.int64)
    valid_q = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths, dtype=np.int64)
    if causal_alignment == "bottom_right":
        offset = valid_k - valid_q
    else:
        offset = np.full(B, past)
    rows = np.arange(Sq)[None, :, None] + offset[:, None, None]
    cols = np.arange(Sk)[None, None, :]
    delta = rows - cols

    logits = scores
    if softcap:
        logits = work(softcap) * np.tanh(logits / work(softcap))
    if alibi_slopes is not None:
        bias = alibi_slopes.astype(work)[None, :, None, None] * np.abs(delta)[:, None].astype(work)
        logits = logits - bias
    keep = np.broadcast_to(cols < valid_k[:, None, None], delta.shape)
    if is_causal:
        keep = keep & (delta >= 0)
    if window is not None:
        left, right = window
        if left is not None:
            keep = keep & (delta <= left)
        if right is not None:
            keep = keep & (-delta <= right)
    keep = np.broadcast_to(keep[:, None], scores.shape)
    if mask is not None:
        if mask.dtype == np.bool_:
            keep = keep & mask
        else:
            logits = logits + mask.astype(work)
            keep = keep & (mask != -np.inf)
    logits = np.where(keep, logits, work(-np.inf))

    peak = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sink = sinks.astype(work)[None, :, None, None]
        peak = np.maximum(peak, sink)
    peak = np.where(peak == -np.inf, work(0), peak)
    weights = np.where(keep, np.exp(logits - peak), work(0))
    total = weights.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sink - peak)
    weights = weights / np.where(total == 0, work(1), total)
    logsumexp = (np.log(total) + peak)[..., 0]
    if np.isfinite(v).all():
        output = np.einsum("bhqk,bhkd->bhqd", weights, v)
    else:
        output = np.where(keep[..., None], weights[..., None] * v[:, :, None], work(0)).sum(axis=-2)
    return {"output": output.astype(dtype), "weights": weights.astype(dtype), "logsumexp": logsumexp.astype(dtype),
            "scores": scores.astype(dtype), "logits": logits.astype(dtype),
            "present_key": present_key, "present_value": present_value}

dtypes = ("float64", "float32")

import math

import numpy as np


def visible(j, p, is_causal, window):
    if is_causal and j > p:
        return False
    if window is not None:
        left, right = window
        if left is not None and j < p - left:
            return False
        if right is not None and j > p + right:
            return False
    return True


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
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise ValueError("rank")
    b_, hq_, sq_, e_ = query.shape
    hk_, sk_ = key.shape[1:3]
    if key.shape[0] != b_ or key.shape[3] != e_:
        raise ValueError("key")
    if value.shape[:3] != (b_, hk_, sk_):
        raise ValueError("value")
    if hq_ % hk_ != 0:
        raise ValueError("groups")
    if mask is not None:
        all_keys = sk_ if past_key is None else sk_ + past_key.shape[2]
        if mask.ndim not in (2, 3, 4) or mask.shape[-1] != all_keys:
            raise ValueError("mask")
        for have, need in zip(reversed(mask.shape), (all_keys, sq_, hq_, b_)):
            if have != need and have != 1:
                raise ValueError("mask")
    real = np.float64 if query.dtype == np.float64 else np.float32
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    P = 0 if past_key is None else past_key.shape[2]
    K = P + Sk
    scale = real(1 / math.sqrt(E)) if scale is None else real(scale)
    output = np.zeros((B, Hq, Sq, Ev), query.dtype)
    weights = np.zeros((B, Hq, Sq, K), query.dtype)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, K))
    for b in range(B):
        length = K if key_lengths is None else int(key_lengths[b])
        count = Sq if query_lengths is None else int(query_lengths[b])
        for h in range(Hq):
            g = h // (Hq // Hkv)
            keys = list(key[b, g]) if P == 0 else list(past_key[b, h % Hkv]) + list(key[b, g])
            values = list(value[b, g]) if P == 0 else list(past_value[b, h % Hkv]) + list(value[b, g])
            for i in range(Sq):
                p = i + P if causal_alignment == "top_left" else i + length - count
                seen, logits = [], []
                for j in range(length):
                    if not visible(j, p, is_causal, window):
                        continue
                    bias = None if mask is None else mask[b, h, i, j]
                    if bias is not None and (bias == -np.inf or (mask.dtype == bool and not bias)):
                        continue
                    logit = np.dot(query[b, h, i].astype(real), keys[j].astype(real)) * scale
                    if softcap:
                        logit = np.tanh(logit / real(softcap)) * real(softcap)
                    if alibi_slopes is not None:
                        logit = logit - real(alibi_slopes[h]) * real(abs(p - j))
                    if bias is not None and mask.dtype != bool:
                        logit = logit + real(bias)
                    seen.append(j)
                    logits.append(logit)
                if not seen:
                    continue
                logits = np.array(logits, real)
                top = logits.max()
                if sinks is not None:
                    top = max(top, real(sinks[h]))
                e = np.exp(logits - top)
                total = e.sum()
                if sinks is not None:
                    total = total + np.exp(real(sinks[h]) - top)
                w = e / total
                row = np.zeros(Ev, real)
                for share, j in zip(w, seen):
                    row = row + share * values[j].astype(real)
                output[b, h, i] = row
                weights[b, h, i, seen] = w
    return {"output": output, "weights": weights}

dtypes = ("float64", "float32")

"""Plain loops, one query at a time, as one would write it in C."""
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
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ek = key.shape
    Ev = value.shape[3]
    if E > Ek or E == 0 or key.shape[0] != B or value.shape[:3] != key.shape[:3] or Hkv == 0 or Hq % Hkv:
        raise ValueError("shapes of query, key and value do not fit")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key without past_value")
    P = 0 if past_key is None else past_key.shape[2]
    T = P + Sk
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != T:
            raise ValueError("mask")
        np.broadcast_shapes(mask.shape, (B, Hq, Sq, T))
        if any(m not in (1, n) for m, n in zip(mask.shape[::-1], (T, Sq, Hq, B))):
            raise ValueError("mask")
    dtype = query.dtype
    factor = 1.0 / math.sqrt(E) if scale is None else scale
    group = Hq // Hkv
    output = np.zeros((B, Hq, Sq, Ev), dtype)
    weights = np.zeros((B, Hq, Sq, T), dtype)
    lse = np.full((B, Hq, Sq), -np.inf, dtype)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    for b in range(B):
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_queries = Sq if query_lengths is None else int(query_lengths[b])
        first = P if causal_alignment == "top_left" else n_keys - n_queries
        for h in range(Hq):
            g = h // group
            for i in range(n_queries):
                pos = first + i
                lo, hi = 0, n_keys
                if is_causal:
                    hi = min(hi, pos + 1)
                if window is not None:
                    if window[0] is not None:
                        lo = max(lo, pos - window[0])
                    if window[1] is not None:
                        hi = min(hi, pos + window[1] + 1)
                seen, logit = [], []
                for j in range(lo, hi):
                    if mask is not None:
                        entry = mask[b, h, i, j]
                        if mask.dtype == np.bool_:
                            if not entry:
                                continue
                        elif entry == -np.inf:
                            continue
                    row = past_key[b, g, j] if j < P else key[b, g, j - P]
                    s = dtype.type(0)
                    for e in range(E):
                        s += query[b, h, i, e] * row[e]
                    s *= dtype.type(factor)
                    if softcap:
                        s = dtype.type(softcap * math.tanh(s / softcap)) if not math.isnan(s) else s
                    if alibi_slopes is not None:
                        s = s - alibi_slopes[h] * abs(pos - j)
                    if mask is not None and mask.dtype != np.bool_:
                        s = s + entry
                    seen.append(j)
                    logit.append(s)
                if sinks is not None:
                    logit.append(sinks[h])
                if not logit:
                    continue
                top = max(logit)
                share = np.exp(np.array(logit, dtype) - top)
                total = share.sum()
                lse[b, h, i] = top + np.log(total)
                for n, j in enumerate(seen):
                    w = share[n] / total
                    weights[b, h, i, j] = w
                    output[b, h, i] += w * (past_value[b, g, j] if j < P else value[b, g, j - P])
    return output

dtypes = ("float64", "float32")

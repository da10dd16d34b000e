"""One number at a time, with lists and math.fsum; a row without keys is NaN."""
import math
import numpy as np
import ml_dtypes

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"fully_masked_row": "nan", "no_keys": "nan"}


def total(xs):
    xs = list(xs)
    try:
        return math.fsum(xs)
    except (ValueError, OverflowError):
        return float(np.sum(np.array(xs, dtype=np.float64)))


def exp(x):
    return float(np.exp(np.float64(x)))


def check(query, key, value, past_key, past_value, mask, key_lengths, query_lengths, scales):
    fits = query.ndim == key.ndim == value.ndim == 4
    fits = fits and key.shape[:3] == value.shape[:3] and key.shape[3] == query.shape[3] and key.shape[0] == query.shape[0]
    fits = fits and (query.shape[1] == 0 or key.shape[1] > 0 and query.shape[1] % key.shape[1] == 0)
    P = 0
    if fits and past_key is not None:
        P = past_key.shape[2]
        fits = past_key.shape == key.shape[:2] + (P, key.shape[3]) and past_value.shape == value.shape[:2] + (P, value.shape[3])
    if fits and mask is not None:
        full = query.shape[:3] + (P + key.shape[2],)
        fits = 2 <= mask.ndim <= 4 and mask.shape[-1] == full[-1]
        fits = fits and all(m in (1, n) for m, n in zip(reversed(mask.shape), reversed(full)))
    for lengths, most in ((key_lengths, key.shape[-2]), (query_lengths, query.shape[-2])):
        if fits and lengths is not None:
            fits = np.shape(lengths) == query.shape[:1] and all(0 <= int(n) <= most for n in lengths)
    for s in scales:
        if fits and s is not None:
            fits = np.ndim(s) <= 2 and all(m in (1, n) for m, n in zip(reversed(np.shape(s)), (key.shape[1], key.shape[0])))
    if not fits:
        raise ValueError("these do not fit together")
    return P


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    P = check(query, key, value, past_key, past_value, mask, key_lengths, query_lengths, (query_scale, key_scale, value_scale))
    B, H, S, E = query.shape
    Hkv = key.shape[1]
    number = {"bfloat16": ml_dtypes.bfloat16}.get(str(output_dtype), output_dtype) if output_dtype is not None else query.dtype
    number = np.dtype(number)
    out = np.zeros((B, H, S, value.shape[3]))
    lse = np.zeros((B, H, S))
    if scale is None:
        scale = 1 / math.sqrt(E)

    def of(s, b, g):
        if s is None:
            return 1.0
        s = np.asarray(s, np.float64)
        while s.ndim < 2:
            s = s[None]
        return float(s[b if s.shape[0] > 1 else 0, g if s.shape[1] > 1 else 0])

    def numbers(old, new, s, b, g):
        rows = ([] if old is None else old[b, g].astype(np.float64).tolist()) + new[b, g].astype(np.float64).tolist()
        return [[x * s for x in row] for row in rows] if s != 1 else rows

    with np.errstate(all="ignore"):
        for b in range(B):
            for h in range(H):
                g = h // (H // Hkv)
                ks = numbers(past_key, key, of(key_scale, b, g), b, g)
                vs = numbers(past_value, value, of(value_scale, b, g), b, g)
                L = len(ks) if key_lengths is None else int(key_lengths[b])
                N = S if query_lengths is None else int(query_lengths[b])
                for i in range(S):
                    p = i + (L - N if causal_alignment == "bottom_right" else P)
                    q = [float(x) * of(query_scale, b, g) for x in query[b, h, i].astype(np.float64)]
                    picked, logits = [], []
                    for j in range(L):
                        if is_causal and j > p:
                            break
                        if window is not None and window[0] is not None and j < p - window[0]:
                            continue
                        if window is not None and window[1] is not None and j > p + window[1]:
                            break
                        x = 0.0
                        if mask is not None:
                            m = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
                            m = m[tuple(n if size > 1 else 0 for n, size in zip((b, h, i, j), m.shape))]
                            if m.dtype == bool:
                                if not m:
                                    continue
                            else:
                                x = float(m)
                                if x == -math.inf:
                                    continue
                        s = total(float(np.float64(a) * np.float64(c)) for a, c in zip(q, ks[j])) * float(scale)
                        if softcap:
                            s = softcap * math.tanh(s / softcap)
                        if alibi_slopes is not None:
                            s -= float(alibi_slopes[h]) * abs(p - j)
                        picked.append(j)
                        logits.append(s + x)
                    sink = None if sinks is None else float(sinks[h])
                    if not picked:
                        lse[b, h, i] = -math.inf if sink is None else sink
                        out[b, h, i] = math.nan if sink is None else 0
                        continue
                    everything = logits + ([] if sink is None else [sink])
                    top = float(np.max(everything))
                    powers = [exp(np.float64(s) - top) for s in everything]
                    n = total(powers)
                    lse[b, h, i] = float(np.log(np.float64(n))) + top
                    for f in range(out.shape[3]):
                        out[b, h, i, f] = total(float(np.float64(w) / n * np.float64(vs[j][f])) for w, j in zip(powers, picked))
        return {"output": out.astype(number), "logsumexp": lse.astype(np.float64 if number == np.float64 else np.float32)}

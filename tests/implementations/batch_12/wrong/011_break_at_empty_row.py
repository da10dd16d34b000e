import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")

@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Each query gathers the keys that it may see, and attends to nothing else."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    P = 0 if past_key is None else past_key.shape[2]
    T = P + key.shape[2]
    group = Hq // key.shape[1]
    f = query.dtype.type
    factor = f(1 / np.sqrt(E)) if scale is None else f(scale)
    out = np.zeros((B, Hq, Sq, value.shape[3]), query.dtype)
    weights = np.zeros((B, Hq, Sq, T), query.dtype)
    lse = np.full((B, Hq, Sq), -np.inf, query.dtype)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    for b in range(B):
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_queries = Sq if query_lengths is None else int(query_lengths[b])
        first = P if causal_alignment == "top_left" else n_keys - n_queries
        for h in range(Hq):
            g = h // group
            if P:
                keys = np.vstack([past_key[b, g], key[b, g]])
                values = np.vstack([past_value[b, g], value[b, g]])
            else:
                keys, values = key[b, g], value[b, g]
            for i in range(Sq):
                p = first + i
                lo, hi = 0, n_keys
                if is_causal:
                    hi = min(hi, p + 1)
                if window is not None:
                    if window[0] is not None:
                        lo = max(lo, p - window[0])
                    if window[1] is not None:
                        hi = min(hi, p + window[1] + 1)
                seen = np.arange(lo, max(lo, hi))
                if mask is not None:
                    row = mask[b, h, i, seen]
                    seen = seen[row if row.dtype == bool else row != -np.inf]
                x = (keys[seen] @ query[b, h, i]) * factor
                if softcap:
                    x = f(softcap) * np.tanh(x / f(softcap))
                if alibi_slopes is not None:
                    x = x - alibi_slopes[h] * np.abs(p - seen).astype(f)
                if mask is not None and mask.dtype != bool:
                    x = x + mask[b, h, i, seen]
                if sinks is not None:
                    x = np.append(x, sinks[h])
                if x.size == 0:
                    break
                top = x.max()
                if top == -np.inf:
                    continue
                e = np.exp(x - top)
                total = e.sum()
                lse[b, h, i] = top + np.log(total)
                e = e[:len(seen)] / total
                weights[b, h, i, seen] = e
                out[b, h, i] = e @ values[seen]
    return {"output": out, "weights": weights, "logsumexp": lse}

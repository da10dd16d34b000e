"""One query at a time, in plain Python."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check



def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
          causal_alignment)
    P = 0
    if past_key is not None:
        P = past_key.shape[2]
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, HQ, SQ, E = query.shape
    HK, T, EV = value.shape[1:]
    group = HQ // HK
    dt = query.dtype
    factor = 1 / math.sqrt(E) if scale is None else scale
    left, right = (None, None) if window is None else window
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, T))
    out = np.zeros((B, HQ, SQ, EV), dt)
    weights = np.zeros((B, HQ, SQ, T), dt)
    lse = np.zeros((B, HQ, SQ), dt)

    def dot(x, y):
        return sum(a * c for a, c in zip(x, y))

    def exp(x):
        return math.nan if math.isnan(x) else math.exp(x) if x < 700 else math.inf

    def cap(s):
        return softcap * math.tanh(s / softcap)

    for b in range(B):
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_queries = SQ if query_lengths is None else int(query_lengths[b])
        for h in range(HQ):
            keys, values = key[b, h // group].tolist(), value[b, h // group].tolist()
            for i, q in enumerate(query[b, h].tolist()):
                p = i + (P if causal_alignment == "top_left" else n_keys - n_queries)
                seen, logits = [], []
                for j in range(n_keys):
                    if is_causal and j > p:
                        continue
                    if left is not None and j < p - left or right is not None and j > p + right:
                        continue
                    s = dot(q, keys[j]) * factor
                    if softcap:
                        s = cap(s)
                    if alibi_slopes is not None:
                        s -= float(alibi_slopes[h]) * abs(p - j)
                    if mask is not None:
                        item = mask[b, h, i, j].item()
                        if item is False or item == -math.inf and mask.dtype != bool:
                            continue
                        if mask.dtype != bool:
                            s += item
                    seen.append(j)
                    logits.append(s)
                sink = -math.inf if sinks is None else float(sinks[h])
                top = max(logits + [sink])
                if any(s != s for s in logits):
                    top = math.nan
                if top == -math.inf:
                    lse[b, h, i] = top
                    continue
                shares = [exp(s - top) for s in logits]
                total = sum(shares) + exp(sink - top)
                lse[b, h, i] = top + math.log(total)
                for j, share in zip(seen, shares):
                    weights[b, h, i, j] = share / total
                for e in range(EV):
                    out[b, h, i, e] = sum(share / total * values[j][e] for j, share in zip(seen, shares))
    return {"output": out, "weights": weights, "logsumexp": lse}

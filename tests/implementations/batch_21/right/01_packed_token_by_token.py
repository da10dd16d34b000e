import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "packed"
dtypes = base.FOUR


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Every token of the queries looks up its sequence, and sums its keys from the last to the first."""
    qs, ks, m3 = base.check_packed(query, key, value, query_starts, key_starts, mask, causal_alignment)
    tq, hq, e = query.shape
    g = base.group(hq, key.shape[1])
    out, lse = np.zeros((tq, hq, value.shape[2])), np.full((tq, hq), -np.inf)
    factor = e**-0.5 if scale is None else scale
    with base.quiet():
        for t in range(tq):
            b = int(np.searchsorted(qs, t, side="right")) - 1
            n, L = qs[b + 1] - qs[b], ks[b + 1] - ks[b]
            p = t - qs[b] + (L - n if causal_alignment == "bottom_right" else 0)
            lo = 0 if window is None or window[0] is None else max(0, p - window[0])
            hi = L if window is None or window[1] is None else min(L, p + window[1] + 1)
            hi = min(hi, p + 1) if is_causal else hi
            j = np.arange(hi - 1, lo - 1, -1)
            for h in range(hq):
                seen, add = j, 0.0
                if m3 is not None:
                    row = m3[0 if m3.shape[0] == 1 else h, 0]
                    if row.dtype == bool:
                        seen = j[row[j]]
                    else:
                        seen = j[base.up(row[j]) != -np.inf]
                        add = base.up(row[seen])
                s = (base.up(key[ks[b] + seen, h // g]) * base.up(query[t, h])).sum(axis=1) * factor
                if softcap:
                    s = np.tanh(s / softcap) * softcap
                if alibi_slopes is not None:
                    s = s - np.abs(seen - p) * float(alibi_slopes[h])
                s = s + add
                if sinks is not None:
                    s = np.append(s, float(sinks[h]))
                if not len(s) or s.max() == -np.inf:
                    continue
                top = s.max()
                x = np.exp(s - top)
                lse[t, h] = top + np.log(x.sum())
                v = base.up(value[ks[b] + seen, h // g])
                out[t, h] = (x[:len(seen), None] / x.sum() * v).sum(axis=0)
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}

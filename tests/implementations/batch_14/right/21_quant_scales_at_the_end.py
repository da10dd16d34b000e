"""Every scale is folded in at the last moment; keys one by one in no order; integers are multiplied as integers."""
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def _pick(scale, b, g):
    if scale is None:
        return 1.0
    scale = np.asarray(scale)
    scale = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
    return float(scale[b if scale.shape[0] > 1 else 0, g if scale.shape[1] > 1 else 0])


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    base.check(**locals())
    dtype = base.result_dtype(query, output_dtype)
    work = base.wide(dtype).type
    batch, hq, sq, e = query.shape
    past = 0 if past_key is None else past_key.shape[2]
    sk = past + key.shape[2]
    out = np.zeros((batch, hq, sq, value.shape[3]), work)
    lse = np.full((batch, hq, sq), -np.inf, work)
    rng = np.random.default_rng(1)
    cell = None if mask is None else np.broadcast_to(mask, (batch, hq, sq, sk))
    factor = e ** -0.5 if scale is None else scale
    with np.errstate(all="ignore"):
        for b in range(batch):
            length = sk if key_lengths is None else int(key_lengths[b])
            n = sq if query_lengths is None else int(query_lengths[b])
            for h in range(hq):
                g = h // (hq // key.shape[1])
                k, v = key[b, g], value[b, g]
                if past:
                    k, v = np.concatenate([past_key[b, g], k]), np.concatenate([past_value[b, g], v])
                qk = work(_pick(query_scale, b, g)) * work(_pick(key_scale, b, g))
                whole = query.dtype == np.int8 and key.dtype == np.int8
                for i in range(n):
                    p = i + (past if causal_alignment == "top_left" else length - n)
                    j = rng.permutation(length)
                    if is_causal:
                        j = j[j <= p]
                    if window is not None and window[0] is not None:
                        j = j[j >= p - window[0]]
                    if window is not None and window[1] is not None:
                        j = j[j <= p + window[1]]
                    if cell is not None:
                        j = j[cell[b, h, i, j] if cell.dtype == bool else ~np.isneginf(cell[b, h, i, j])]
                    if whole:
                        s = (k[j].astype(np.int32) @ query[b, h, i].astype(np.int32)).astype(work)
                    else:
                        order = rng.permutation(e)
                        s = k[j].astype(work)[:, order] @ query[b, h, i].astype(work)[order]
                    s = s * qk * work(factor)
                    if softcap:
                        s = work(softcap) * np.tanh(s / work(softcap))
                    if alibi_slopes is not None:
                        s = s - work(alibi_slopes[h]) * np.abs(j - p)
                    if cell is not None and cell.dtype != bool:
                        s = s + cell[b, h, i, j].astype(work)
                    all_s = s if sinks is None else np.append(s, work(sinks[h]))
                    top = all_s.max(initial=-np.inf)
                    if top == -np.inf:
                        continue
                    total = np.exp(all_s - top).sum()
                    w = np.exp(s - top)
                    out[b, h, i] = (w @ v[j].astype(work)) * work(_pick(value_scale, b, g)) / total
                    lse[b, h, i] = top + np.log(total)
    return {"output": out.astype(dtype), "logsumexp": lse}

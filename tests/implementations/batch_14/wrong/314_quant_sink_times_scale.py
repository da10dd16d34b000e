import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import ml_dtypes
import base


def _of(scale, b, g, batch, heads):
    return 1.0 if scale is None else float(np.broadcast_to(np.asarray(scale, np.float32), (batch, heads))[b, g])


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Numbers are multiplied as they are; a head's scales are folded into its scores and its output."""
    base.check(**locals())
    dtype = base.result_dtype(query, output_dtype)
    work = base.wide(dtype).type
    batch, hq, sq, e = query.shape
    hkv = key.shape[1]
    keys = key if past_key is None else np.concatenate([past_key, key], axis=2)
    values = value if past_value is None else np.concatenate([past_value, value], axis=2)
    sk = keys.shape[2]
    past = sk - key.shape[2]
    out = np.zeros((batch, hq, sq, values.shape[3]), work)
    lse = np.full((batch, hq, sq), -np.inf, work)
    side = (None, None) if window is None else window
    j = np.arange(sk)
    whole = None if mask is None else np.broadcast_to(mask, (batch, hq, sq, sk))
    with np.errstate(all="ignore"):
        for b in range(batch):
            length = sk if key_lengths is None else int(key_lengths[b])
            n = sq if query_lengths is None else int(query_lengths[b])
            start = past if causal_alignment == "top_left" else length - n
            p = (start + np.arange(sq))[:, None]
            for h in range(hq):
                g = h // (hq // max(hkv, 1))
                qk = _of(query_scale, b, g, batch, hkv) * _of(key_scale, b, g, batch, hkv)
                vs = _of(value_scale, b, g, batch, hkv)
                ok = np.broadcast_to(j < length, (sq, sk)).copy()
                if is_causal:
                    ok &= j <= p
                if side[0] is not None:
                    ok &= j >= p - side[0]
                if side[1] is not None:
                    ok &= j <= p + side[1]
                bias = np.zeros((sq, sk), work)
                if alibi_slopes is not None:
                    bias -= work(alibi_slopes[h]) * np.abs(p - j)
                if whole is not None:
                    if whole.dtype == bool:
                        ok &= whole[b, h]
                    else:
                        ok &= ~np.isneginf(whole[b, h].astype(np.float64))
                        bias = bias + whole[b, h].astype(work)
                s = query[b, h].astype(work) @ keys[b, g].astype(work).T
                s = s * work(qk) * work(e ** -0.5 if scale is None else scale)
                if softcap:
                    s = softcap * np.tanh(s / softcap)
                x = np.where(ok, s + bias, -np.inf)
                top = x.max(-1, initial=-np.inf)
                sink = work(-np.inf) if sinks is None else work(sinks[h]) * work(qk)
                top = np.maximum(top, sink)
                top = np.where(top == -np.inf, 0, top)
                w = np.where(ok, np.exp(x - top[:, None]), 0)
                total = w.sum(-1) + np.exp(sink - top)
                w = w / np.where(total == 0, 1, total)[:, None]
                l = top + np.log(total)
                v = values[b, g].astype(work)
                if np.isfinite(v).all():
                    o = w @ v
                else:
                    o = np.where(ok[:, :, None], w[:, :, None] * v[None], 0).sum(1)
                out[b, h] = o * vs
                lse[b, h] = l
    return {"output": out.astype(dtype), "logsumexp": lse}

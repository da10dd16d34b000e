import math
import ml_dtypes
import numpy as np

QUANTIZED = [np.dtype(x) for x in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8)]
TILE = 5


def _check(ok, text):
    if not ok:
        raise ValueError(text)


def _fits(have, want):
    return len(have) <= len(want) and all(x in (1, y) for x, y in zip(have[::-1], want[::-1]))


def _checks(query, key, value, mask, past_key, past_value, key_lengths, query_lengths):
    _check(query.ndim == key.ndim == value.ndim == 4, "rank")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    _check(key.shape[0] == B and value.shape[0] == B, "batch")
    _check(key.shape[3] == E, "width")
    _check(value.shape[1:3] == (Hkv, Sk), "value")
    _check(Hq % Hkv == 0 if Hkv else Hq == 0, "heads")
    P = 0
    _check((past_key is None) == (past_value is None), "past")
    if past_key is not None:
        _check(past_key.ndim == past_value.ndim == 4, "rank")
        P = past_key.shape[2]
        _check(past_key.shape == (B, Hkv, P, E) and past_value.shape == (B, Hkv, P, value.shape[3]), "past")
    for n, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if n is not None:
            _check(n.shape == (B,), "lengths")
            _check(not ((n < 0) | (n > most)).any(), "lengths")
    if mask is not None:
        _check(2 <= mask.ndim <= 4 and mask.shape[-1] == P + Sk and _fits(mask.shape, (B, Hq, Sq, P + Sk)), "mask")
    return B, Hq, Hkv, Sq, E, P, P + Sk


def _descale(s, B, H):
    if s is None:
        return np.ones((B, H), np.float32)
    s = np.asarray(s)
    _check(_fits(s.shape, (B, H)), "scale")
    return np.broadcast_to(s, (B, H))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    B, Hq, Hkv, Sq, E, P, K = _checks(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
    dt = np.dtype(output_dtype or "float32") if query.dtype in QUANTIZED else query.dtype
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    dq, dk, dv = (_descale(s, B, Hkv).astype(dt) for s in (query_scale, key_scale, value_scale))
    factor = dt.type(1 / math.sqrt(E) if scale is None else scale)
    full = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, K))
    left, right = (None, None) if window is None else window
    out, lse = np.zeros((B, Hq, Sq, value.shape[3]), dt), np.zeros((B, Hq, Sq), dt)
    for b in range(B):
        L = K if key_lengths is None else int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        p = np.arange(Sq)[:, None] + (P if causal_alignment == "top_left" else L - N)
        for h in range(Hq):
            g = h // (Hq // Hkv)
            q = query[b, h].astype(dt)
            m, t, acc = np.full(Sq, -np.inf, dt), np.zeros(Sq, dt), np.zeros((Sq, value.shape[3]), dt)
            if sinks is not None:
                m, t = np.full(Sq, sinks[h], dt), np.ones(Sq, dt)
            for start in range(0, L, TILE):
                j = np.arange(start, min(start + TILE, L))
                k, v = key[b, g, j].astype(dt), value[b, g, j].astype(dt)
                ok = np.ones((Sq, len(j)), bool)
                if is_causal:
                    ok &= j <= p
                if left is not None:
                    ok &= p - j <= left
                if right is not None:
                    ok &= j - p <= right
                with np.errstate(all="ignore"):
                    x = (q @ k.T) * (dq[b, g] * dk[b, g]) * factor
                    if softcap:
                        x = dt.type(softcap) * np.tanh(x / dt.type(softcap))
                    if alibi_slopes is not None:
                        x = x - dt.type(alibi_slopes[h]) * np.abs(p - j).astype(dt)
                    if full is not None:
                        row = full[b, h][:, j]
                        if row.dtype == bool:
                            ok &= row
                        else:
                            ok &= row != -np.inf
                            x = x + row.astype(dt)
                    x = np.where(ok, x, -np.inf)
                    new = np.maximum(m, x.max(1))
                    ref = np.where(new == -np.inf, 0, new)
                    e = np.where(ok, np.exp(x - ref[:, None]), 0).astype(dt)
                    old = np.exp(m - ref)
                    t = t * old + e.sum(1)
                    if value.dtype in QUANTIZED[:2]:
                        e = e.astype(value.dtype).astype(dt)      # both sides of the product in float8
                    acc = acc * old[:, None] + np.where(ok[:, :, None], e[:, :, None] * v, 0).sum(1)
                    m = new
            with np.errstate(all="ignore"):
                out[b, h] = acc * dv[b, g] / np.where(t == 0, 1, t)[:, None]
                lse[b, h] = np.where(t == 0, -np.inf, m + np.log(t))
    return {"output": out, "logsumexp": lse}

"""Five axes (batch, key head, group, query, key), logits in units of log 2."""
import numpy as np

LOG2E = 1.4426950408889634074
LN2 = 0.69314718055994530942


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
    ft = np.float64 if query.dtype == np.float64 else np.float32
    B, Hq, Sq, E = query.shape
    Hkv, Ev = value.shape[1], value.shape[3]
    G = Hq // Hkv
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    Sk = key.shape[2]
    if scale is None:
        scale = 1.0 / E ** 0.5
    q = query.astype(ft).reshape(B, Hkv, G, Sq, E)
    k = key.astype(ft)[:, :, None]
    v = value.astype(ft)[:, :, None]
    x = np.matmul(q, k.swapaxes(-1, -2))
    if softcap:
        x = np.tanh(x * ft(scale / softcap)) * ft(softcap * LOG2E)
    else:
        x = x * ft(scale * LOG2E)
    kl = np.full(B, Sk) if key_lengths is None else np.array(key_lengths, dtype=np.int64)
    ql = np.full(B, Sq) if query_lengths is None else np.array(query_lengths, dtype=np.int64)
    if causal_alignment == "bottom_right":
        start = kl - ql
    else:
        start = np.full(B, past)
    p = (start[:, None] + np.arange(Sq)).reshape(B, 1, 1, Sq, 1)
    j = np.arange(Sk)
    if alibi_slopes is not None:
        slope = alibi_slopes.astype(ft).reshape(Hkv, G, 1, 1)
        x = x - slope * np.abs(p - j).astype(ft) * ft(LOG2E)
    ok = j < kl.reshape(B, 1, 1, 1, 1)
    if is_causal:
        ok = ok & (j <= p)
    if window is not None and window[0] is not None:
        ok = ok & (p - j <= window[0])
    if window is not None and window[1] is not None:
        ok = ok & (j - p <= window[1])
    if mask is not None:
        m5 = np.broadcast_to(mask, (B, Hq, Sq, Sk)).reshape(B, Hkv, G, Sq, Sk)
        if m5.dtype == bool:
            ok = ok & m5
        else:
            ok = ok & (m5 != -np.inf)
            x = x + np.maximum(m5.astype(ft) * ft(LOG2E), np.finfo(ft).min)
    ok = np.broadcast_to(ok, x.shape)
    x = np.where(ok, x, ft(-np.inf))
    top = x.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        s2 = sinks.astype(ft).reshape(Hkv, G, 1, 1) * ft(LOG2E)
        top = np.maximum(top, s2)
    top = np.where(np.isneginf(top), ft(0), top)
    e = np.where(ok, np.exp2(x - top), ft(0))
    denominator = e.sum(axis=-1, keepdims=True)
    if sinks is not None:
        denominator = denominator + np.exp2(s2 - top)
    lse = (top + np.log2(denominator)) * ft(LN2)
    if np.isfinite(v).all():
        o = np.matmul(e, v)
    else:
        o = np.where(ok[..., None], e[..., None] * v[:, :, :, None], ft(0)).sum(axis=-2)
    o = o / np.where(denominator == 0, ft(1), denominator)
    output = o.reshape(B, Hq, Sq, Ev).astype(query.dtype)
    return {"output": output, "logsumexp": lse.reshape(B, Hq, Sq).astype(query.dtype)}

dtypes = ("float64", "float32")

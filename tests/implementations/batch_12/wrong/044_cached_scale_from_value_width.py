import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}


class KVCache:
    """Keys and values of a sequence in buffers that grow by pages."""
    page = 8

    def __init__(self, batch, heads, key_width, value_width, dtype):
        self.used = 0
        self.k = np.zeros((batch, heads, 0, key_width), dtype)
        self.v = np.zeros((batch, heads, 0, value_width), dtype)

    def append(self, k, v):
        new = k.shape[2]
        if self.used + new > self.k.shape[2]:
            room = -(-(self.used + new) // self.page) * self.page
            grown_k = np.zeros(self.k.shape[:2] + (room,) + self.k.shape[3:], self.k.dtype)
            grown_v = np.zeros(self.v.shape[:2] + (room,) + self.v.shape[3:], self.v.dtype)
            grown_k[:, :, :self.used] = self.k[:, :, :self.used]
            grown_v[:, :, :self.used] = self.v[:, :, :self.used]
            self.k, self.v = grown_k, grown_v
        self.k[:, :, self.used:self.used + new] = k
        self.v[:, :, self.used:self.used + new] = v
        self.used += new

    def view(self):
        return self.k[:, :, :self.used], self.v[:, :, :self.used]


class Attention:
    def __init__(self, width, scale, softcap, window, is_causal, alignment):
        self.scale = width ** -0.5 if scale is None else float(scale)
        self.softcap = float(softcap) if softcap else None
        self.left, self.right = window if window is not None else (None, None)
        self.is_causal, self.alignment = is_causal, alignment

    def positions(self, past, keys, queries, key_lengths, query_lengths, batch):
        if self.alignment == "top_left":
            first = np.full(batch, past)
        else:
            first = (np.full(batch, keys) if key_lengths is None else np.asarray(key_lengths)) \
                - (np.full(batch, queries) if query_lengths is None else np.asarray(query_lengths))
        return first[:, None] + np.arange(queries)

    def visible(self, p, keys, key_lengths):
        j = np.arange(keys)
        see = np.ones((p.shape[0], p.shape[1], keys), bool)
        if self.is_causal:
            see &= j <= p[:, :, None]
        if self.left is not None:
            see &= j >= p[:, :, None] - self.left
        if self.right is not None:
            see &= j <= p[:, :, None] + self.right
        if key_lengths is not None:
            see &= j < np.asarray(key_lengths)[:, None, None]
        return see

    def forward(self, q, cache, past, mask, key_lengths, query_lengths, sinks, slopes):
        k, v = cache.view()
        B, Hq, Sq, E = q.shape
        Hkv, T = k.shape[1:3]
        p = self.positions(past, T, Sq, key_lengths, query_lengths, B)
        see = self.visible(p, T, key_lengths)
        out = np.zeros((B, Hq, Sq, v.shape[3]), q.dtype)
        for h in range(Hq):
            kv = h // (Hq // Hkv)
            x = np.einsum("bqe,bke->bqk", q[:, h], k[:, kv]) * self.scale
            if self.softcap is not None:
                x = self.softcap * np.tanh(x / self.softcap)
            if slopes is not None:
                x -= slopes[h] * np.abs(p[:, :, None] - np.arange(T)).astype(x.dtype)
            ok = see
            if mask is not None:
                mh = np.broadcast_to(mask, (B, Hq, Sq, T))[:, h]
                if mh.dtype == bool:
                    ok = ok & mh
                else:
                    x = x + mh
                    ok = ok & ~np.isneginf(mh)
            out[:, h] = self.attend(x, ok, v[:, kv], None if sinks is None else sinks[h])
        return out

    def attend(self, x, ok, v, sink):
        x = np.where(ok, x, x.dtype.type(-np.inf))
        if sink is not None:
            x = np.concatenate([x, np.full(x.shape[:2] + (1,), sink, x.dtype)], axis=-1)
            v = np.concatenate([v, np.zeros_like(v, shape=(v.shape[0], 1, v.shape[2]))], axis=1)
        m = x.max(-1, keepdims=True, initial=-np.inf)
        e = np.exp(x - np.where(np.isneginf(m), x.dtype.type(0), m))
        d = e.sum(-1, keepdims=True)
        return (e @ v) / np.where(d == 0, x.dtype.type(1), d)


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hkv, Sk, E = key.shape
    cache = KVCache(B, Hkv, E, value.shape[3], query.dtype)
    past = 0
    if past_key is not None:
        cache.append(past_key, past_value)
        past = past_key.shape[2]
    cache.append(key, value)
    layer = Attention(E if past_key is None else cache.v.shape[3], scale, softcap, window, is_causal, causal_alignment)
    out = layer.forward(query, cache, past, mask, key_lengths, query_lengths, sinks, alibi_slopes)
    present_key, present_value = cache.view()
    return {"output": out, "present_key": present_key.copy(), "present_value": present_value.copy()}

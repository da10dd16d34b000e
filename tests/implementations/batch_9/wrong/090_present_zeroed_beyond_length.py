import math

import numpy as np

BLOCK = 4


class Cache:
    def __init__(self, batch, heads, width, value_width, capacity, dtype):
        blocks = -(-capacity // BLOCK)
        self.keys = np.zeros((batch * blocks, heads, BLOCK, width), dtype)
        self.values = np.zeros((batch * blocks, heads, BLOCK, value_width), dtype)
        self.table = np.arange(batch * blocks).reshape(batch, blocks)
        self.filled = 0

    def append(self, key, value):
        for t in range(key.shape[2]):
            slot = self.filled + t
            for b in range(key.shape[0]):
                block = self.table[b, slot // BLOCK]
                self.keys[block, :, slot % BLOCK] = key[b, :, t]
                self.values[block, :, slot % BLOCK] = value[b, :, t]
        self.filled += key.shape[2]

    def gather(self, b):
        k = self.keys[self.table[b]].transpose(1, 0, 2, 3)
        v = self.values[self.table[b]].transpose(1, 0, 2, 3)
        k = k.reshape(k.shape[0], -1, k.shape[3])[:, :self.filled]
        v = v.reshape(v.shape[0], -1, v.shape[3])[:, :self.filled]
        return k, v


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
    wide = np.float64 if query.dtype == np.float64 else np.float32
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    group = Hq // Hkv
    past = 0 if past_key is None else past_key.shape[2]
    total_keys = past + Sk
    cache = Cache(B, Hkv, E, Ev, total_keys, query.dtype)
    if past:
        cache.append(past_key, past_value)
    cache.append(key, value)
    scale = wide(1 / math.sqrt(E) if scale is None else scale)
    left, right = (None, None) if window is None else window
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, total_keys))
    output = np.zeros((B, Hq, Sq, Ev), query.dtype)
    present_key = np.zeros((B, Hkv, total_keys, E), query.dtype)
    present_value = np.zeros((B, Hkv, total_keys, Ev), query.dtype)
    logsumexp = np.zeros((B, Hq, Sq), query.dtype)
    for b in range(B):
        k_all, v_all = cache.gather(b)
        present_key[b], present_value[b] = k_all, v_all
        keys = total_keys if key_lengths is None else int(key_lengths[b])
        present_key[b, :, keys:] = 0
        present_value[b, :, keys:] = 0
        queries = Sq if query_lengths is None else int(query_lengths[b])
        k = np.repeat(k_all[:, :keys].astype(wide), group, axis=0)
        v = np.repeat(v_all[:, :keys].astype(wide), group, axis=0)
        j = np.arange(keys)
        for i in range(Sq):
            p = i + past if causal_alignment == "top_left" else i + keys - queries
            see = np.ones(keys, bool)
            if is_causal:
                see &= j <= p
            if left is not None:
                see &= j >= p - left
            if right is not None:
                see &= j <= p + right
            see = np.broadcast_to(see, (Hq, keys))
            s = np.matmul(k, query[b, :, i].astype(wide)[:, :, None])[:, :, 0] * scale
            if softcap is not None and softcap != 0:
                s = wide(softcap) * np.tanh(s / wide(softcap))
            if alibi_slopes is not None:
                s = s - alibi_slopes.astype(wide)[:, None] * np.abs(p - j).astype(wide)
            if mask is not None:
                row = mask[b, :, i, :keys]
                if row.dtype == bool:
                    see = see & row
                else:
                    see = see & (row != -np.inf)
                    s = s + row.astype(wide)
            s = np.where(see, s, wide(-np.inf))
            top = s.max(axis=1, initial=-np.inf)
            if sinks is not None:
                top = np.maximum(top, sinks.astype(wide))
            top = np.where(top == -np.inf, wide(0), top)
            e = np.where(see, np.exp(s - top[:, None]), wide(0))
            z = e.sum(axis=1)
            if sinks is not None:
                z = z + np.exp(sinks.astype(wide) - top)
            logsumexp[b, :, i] = top + np.log(z)
            w = e / np.where(z == 0, wide(1), z)[:, None]
            if np.isfinite(v).all():
                output[b, :, i] = np.matmul(w[:, None], v)[:, 0]
            else:
                output[b, :, i] = np.where(see[:, :, None], w[:, :, None] * v, wide(0)).sum(axis=1)
    return {"output": output, "logsumexp": logsumexp, "present_key": present_key, "present_value": present_value}

dtypes = ("float64", "float32")

"""Keys in parts; each part gives its own normalised output and its logsumexp, and the parts are merged."""
import math

import numpy as np

PARTS = 3


def _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment):
    """Refuse what does not fit; give the number of past tokens."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise ValueError(f"{name} must have four axes")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if query.shape[3] != key.shape[3] or query.shape[3] == 0:
        raise ValueError("query and key differ in width")
    if key.shape[1] != value.shape[1] or key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in length")
    if causal_alignment not in ("top_left", "bottom_right") or (softcap is not None and softcap < 0):
        raise ValueError("bad attribute")
    if (past_key is None) != (past_value is None):
        raise ValueError("past key and past value come together")
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        if key_lengths is not None or query_lengths is not None:
            raise ValueError("past and lengths do not come together")
        if past_key.shape != key.shape[:2] + (past, key.shape[3]):
            raise ValueError("past key does not fit")
        if past_value.shape != value.shape[:2] + (past, value.shape[3]):
            raise ValueError("past value does not fit")
    if mask is not None:
        full = (query.shape[0], query.shape[1], query.shape[2], past + key.shape[2])
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != full[-1]:
            raise ValueError("mask does not fit")
        if any(have not in (1, want) for have, want in zip(mask.shape[::-1], full[::-1])):
            raise ValueError("mask does not broadcast")
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, query.shape[2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    return past


class Geometry:
    """Where queries stand, and what they may see by position."""

    def __init__(self, B, Sq, Sk, past, key_lengths, query_lengths, alignment, causal, window):
        self.length = np.full(B, Sk) if key_lengths is None else np.array(key_lengths, dtype=np.int64)
        count = np.full(B, Sq) if query_lengths is None else np.array(query_lengths, dtype=np.int64)
        start = np.full(B, past) if alignment == "top_left" else self.length - count
        self.position = (start[:, None] + np.arange(Sq))[:, None, :, None]
        self.left, self.right = (None, None) if window is None else window
        self.causal = causal

    def visible(self, lo, hi):
        j = np.arange(lo, hi)
        see = j < self.length[:, None, None, None]
        if self.causal:
            see = see & (j <= self.position)
        if self.left is not None and self.causal:
            see = see & (j >= self.position - self.left)
        if self.right is not None:
            see = see & (j <= self.position + self.right)
        return see

    def gap(self, lo, hi):
        return np.abs(self.position - np.arange(lo, hi))


def _part(q, k, v, see, gap, bias, scale, softcap, slopes):
    """Normalised output and logsumexp over the keys of one part."""
    s = np.einsum("bhie,bhje->bhij", q, k) * q.dtype.type(scale)
    if softcap:
        s = q.dtype.type(softcap) * np.tanh(s / q.dtype.type(softcap))
    if slopes is not None:
        s = s - slopes.astype(q.dtype)[None, :, None, None] * gap.astype(q.dtype)
    if bias is not None:
        s = s + bias
    see = np.broadcast_to(see, s.shape)
    s = np.where(see, s, -np.inf)
    m = s.max(axis=3, initial=-np.inf, keepdims=True)
    m = np.where(np.isneginf(m), 0, m)
    p = np.exp(s - m)
    z = p.sum(axis=3, keepdims=True)
    if np.isfinite(v).all():
        o = p @ v
    else:
        o = np.where(see[..., None], p[..., None] * v[:, :, None], 0).sum(axis=3)
    o = o / np.where(z == 0, 1, z)
    return o, np.where(z == 0, -np.inf, m + np.log(z))[..., 0]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    present_key, present_value = key, value
    if past:
        present_key = np.concatenate([past_key, key], 2)
        present_value = np.concatenate([past_value, value], 2)
    B, Hq, Sq, E = query.shape
    Hkv, Sk = present_key.shape[1], present_key.shape[2]
    real = np.promote_types(query.dtype, np.float32)
    share = np.arange(Hq) // (Hq // Hkv)
    q, k, v = query.astype(real), present_key[:, share].astype(real), present_value[:, share].astype(real)
    scale = 1 / math.sqrt(E) if scale is None else scale
    geometry = Geometry(B, Sq, Sk, past, key_lengths, query_lengths, causal_alignment, is_causal, window)

    with np.errstate(all="ignore"):
        outs, lses = [], []
        edges = [Sk * n // PARTS for n in range(PARTS + 1)]
        for lo, hi in zip(edges[:-1], edges[1:]):
            see, bias = geometry.visible(lo, hi), None
            if mask is not None:
                part = mask[..., lo:hi]
                if part.dtype == bool:
                    see = see & part
                else:
                    see, bias = see & (part != -np.inf), part
            o, e = _part(q, k[:, :, lo:hi], v[:, :, lo:hi], see, geometry.gap(lo, hi), bias, scale, softcap, alibi_slopes)
            outs.append(o)
            lses.append(e)

        top = np.maximum.reduce(lses)
        if sinks is not None:
            sink = sinks.astype(real)[None, :, None]
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0, top)
        shares = [np.exp(e - top) for e in lses]
        total = sum(shares)
        if sinks is not None:
            total = total + np.exp(sink - top)
        out = sum(np.where((w > 0)[..., None] | np.isnan(w)[..., None], w[..., None] * o, 0) for w, o in zip(shares, outs))
        out = out / np.where(total == 0, 1, total)[..., None]
        logsumexp = np.where(total == 0, -np.inf, np.log(total) + top)
    return out.astype(query.dtype)

dtypes = ("float64", "float32")

"""As a library with float32 inside: a fully masked row is all the lowest number, and so a mean of all values."""
import numpy as np

conventions = {"accumulation": "float32", "fully_masked_row": "uniform", "no_keys": "refuse", "masked_nonfinite": "propagates"}
LOWEST = np.finfo(np.float32).min


def scaled_dot_product_attention(query, key, value, mask=None, key_lengths=None, query_lengths=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("rank")
    B, H, Sq, E = query.shape
    Bk, G, Sk, Ek = key.shape
    if (B, E) != (Bk, Ek) or value.shape[:3] != (B, G, Sk) or G == 0 or H % G or Sk == 0:
        raise ValueError("shapes")
    if mask is not None and (not 2 <= mask.ndim <= 4 or mask.shape[-1] != Sk
                             or any(m not in (1, n) for m, n in zip(mask.shape[::-1], (Sk, Sq, H, B)))):
        raise ValueError("mask")
    f = np.float32
    q, k, v = query.astype(f), np.repeat(key, H // G, 1).astype(f), np.repeat(value, H // G, 1).astype(f)
    s = np.einsum("bhie,bhje->bhij", q * f(E ** -0.5 if scale is None else scale), k)
    if softcap:
        s = np.tanh(s / f(softcap)) * f(softcap)
    L = np.full(B, Sk) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    if L.shape != (B,) or N.shape != (B,) or (L < 0).any() or (L > Sk).any() or (N < 0).any() or (N > Sq).any():
        raise ValueError("lengths do not fit")
    start = L - N if causal_alignment == "bottom_right" else np.zeros(B, int)
    ahead = np.arange(Sk) - (start[:, None] + np.arange(Sq))[:, :, None]
    keep = np.broadcast_to(np.arange(Sk) < L[:, None, None], ahead.shape).copy()
    if is_causal:
        keep &= ahead <= 0
    if window is not None and window[0] is not None:
        keep &= ahead >= -window[0]
    if window is not None and window[1] is not None:
        keep &= ahead <= window[1]
    keep = np.broadcast_to(keep[:, None], s.shape)
    if mask is not None and mask.dtype == bool:
        keep = keep & mask
    elif mask is not None:
        keep = keep & ~np.isneginf(mask)
        s = s + np.where(np.isneginf(mask), 0, mask).astype(f)
    s = np.where(keep, s, np.where(keep.any(axis=3, keepdims=True), f(-np.inf), LOWEST))
    e = np.exp(s - s.max(axis=3, keepdims=True))
    w = e / e.sum(axis=3, keepdims=True)
    return np.einsum("bhij,bhjv->bhiv", w, v).astype(query.dtype)

dtypes = ("float64", "float32")

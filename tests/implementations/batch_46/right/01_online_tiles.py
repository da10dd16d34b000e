import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np
from types import SimpleNamespace

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 7


def bias_of(c, mask, j, b, h, p):
    """What is added to the scores of the keys j, and which of them may be attended, for the queries at p."""
    allowed = np.broadcast_to(j[None] < c.L[b], (len(p), len(j))).copy()
    if c.is_causal:
        allowed &= j[None] <= p[:, None]
    if c.window is not None:
        left, right = c.window
        if left is not None:
            allowed &= j[None] >= p[:, None] - left
        if right is not None:
            allowed &= j[None] <= p[:, None] + right
    bias = None
    if c.alibi_slopes is not None:
        bias = -(c.work(c.alibi_slopes[h]) * np.abs(p[:, None] - j[None]).astype(c.work))
    if mask is not None:
        some = mask[b, h][:, j]
        if some.dtype == bool:
            allowed &= some
        else:
            some = some.astype(c.work)
            allowed &= some != -np.inf
            bias = some if bias is None else bias + some
    return allowed, bias


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    """An online softmax over tiles of 7 keys that carries the mean so far, values added one by one; in float32 throughout but for float64."""
    c = SimpleNamespace(**locals())
    for name in ("query", "key", "value", "mask", "past_key", "past_value", "alibi_slopes", "sinks"):
        if getattr(c, name) is not None:
            setattr(c, name, np.asarray(getattr(c, name)))
    P = base.check_dense(c)
    B, Hq, Sq, E = c.query.shape
    Hkv, Sk, Ev = c.key.shape[1], c.key.shape[2], c.value.shape[3]
    dtype = base.result_dtype(c.query, output_dtype)
    c.work = np.float64 if dtype == np.float64 else np.float32
    T = P + Sk
    c.L = np.full(B, T) if c.key_lengths is None else c.key_lengths
    N = np.full(B, Sq) if c.query_lengths is None else c.query_lengths
    factor = c.work(E ** -0.5 if scale is None else scale)

    def number(scale, b, g):
        scale = np.asarray(scale)
        scale = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
        return c.work(scale[b if scale.shape[0] > 1 else 0, g if scale.shape[1] > 1 else 0])

    def row(array, past, scale, b, g):
        part = array[b, g] if past is None else np.concatenate([past[b, g], array[b, g]])
        part = part.astype(c.work)
        return part * number(scale, b, g) if base.is_quantized(array) and scale is not None else part

    output = np.zeros((B, Hq, Sq, Ev), c.work)
    logsumexp = np.full((B, Hq, Sq), -np.inf, c.work)
    mask = None if c.mask is None else np.broadcast_to(c.mask, (B, Hq, Sq, T))
    with np.errstate(all="ignore"):
        for b in range(B):
            p = np.arange(Sq) + (P if causal_alignment == "top_left" else c.L[b] - N[b])
            for h in range(Hq):
                g = h // (Hq // Hkv)
                q = c.query[b, h].astype(c.work)
                if base.is_quantized(c.query) and query_scale is not None:
                    q = q * number(query_scale, b, g)
                k, v = row(c.key, c.past_key, key_scale, b, g), row(c.value, c.past_value, value_scale, b, g)
                m = np.full(Sq, -np.inf, c.work)
                total = np.zeros(Sq, c.work)
                if c.sinks is not None:
                    m[:] = c.sinks[h].astype(c.work)
                    total[:] = 0 if float(c.sinks[h]) == -np.inf else 1
                held = np.zeros((Sq, Ev), c.work)
                for first in range(0, T, TILE):
                    j = np.arange(first, min(first + TILE, T))
                    allowed, bias = bias_of(c, mask, j, b, h, p)
                    if not allowed.any():
                        continue
                    s = (q @ k[j].T) * factor
                    if softcap:
                        s = c.work(softcap) * np.tanh(s / c.work(softcap))
                    if bias is not None:
                        s = s + bias
                    s = np.where(allowed, s, c.work(-np.inf))
                    higher = np.maximum(m, s.max(axis=-1))
                    shift = np.where(higher == -np.inf, c.work(0), higher)
                    kept = np.exp(m - shift)
                    kept = np.where(m == higher, np.where(np.isfinite(m) | (m == -np.inf), c.work(1), kept), kept)
                    powers = np.where(allowed, np.exp(s - shift[:, None]), c.work(0))
                    before = total * kept
                    total = before + powers.sum(axis=-1)
                    whole = np.where(total == 0, c.work(1), total)  # the mean so far is held, not the sum
                    held = held * (before / whole)[:, None]
                    for n, one in enumerate(j):
                        held = held + np.where(allowed[:, n, None], (powers[:, n] / whole)[:, None] * v[one], c.work(0))
                    m = higher
                output[b, h] = held
                logsumexp[b, h] = np.where(total == 0, -np.inf, np.log(total) + np.where(m == -np.inf, c.work(0), m))
    return {"output": base.rounded(output, dtype), "logsumexp": base.rounded(logsumexp, base.side_dtype(dtype))}

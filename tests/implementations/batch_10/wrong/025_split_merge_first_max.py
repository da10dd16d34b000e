"""Keys in splits of their own; the partial results are merged by their logsumexp (flash decoding)."""
import math
import numpy as np

SPLIT = 5


def _partial(q, k, v, bias, factor, softcap):
    """One split: bias holds ALiBi, float mask and minus infinity where a key is excluded."""
    s = np.einsum("qe,ke->qk", q, k) * factor
    if softcap:
        s = softcap * np.tanh(s / softcap)
    s = np.where(bias == -np.inf, -np.inf, s + bias)
    top = s.max(axis=1)
    safe = np.where(top == -np.inf, 0, top).astype(q.dtype)
    e = np.exp(s - safe[:, None])
    total = e.sum(axis=1)
    with np.errstate(divide="ignore"):
        return (e @ v) / np.where(total == 0, 1, total)[:, None], safe + np.log(total)


def _merge(parts, sink, dtype):
    lses = np.stack([p[1] for p in parts] + ([] if sink is None else [np.full_like(parts[0][1], sink)]))
    top = lses[0]
    safe = np.where(top == -np.inf, 0, top).astype(dtype)
    share = np.exp(lses - safe)
    total = share.sum(axis=0)
    out = sum(p[0] * w[:, None] for p, w in zip(parts, share)) / np.where(total == 0, 1, total)[:, None]
    with np.errstate(divide="ignore"):
        return out, safe + np.log(total)


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
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ek = key.shape
    Ev = value.shape[3]
    if E != Ek or E == 0 or key.shape[0] != B or value.shape[:3] != key.shape[:3] or Hkv == 0 or Hq % Hkv:
        raise ValueError("shapes of query, key and value do not fit")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key without past_value")
    P = 0 if past_key is None else past_key.shape[2]
    T = P + Sk
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != T:
            raise ValueError("mask")
        np.broadcast_shapes(mask.shape, (B, Hq, Sq, T))
        if any(m not in (1, n) for m, n in zip(mask.shape[::-1], (T, Sq, Hq, B))):
            raise ValueError("mask")
    dtype = query.dtype
    factor = dtype.type(1.0 / math.sqrt(E) if scale is None else scale)
    cap = None if not softcap else dtype.type(softcap)
    out = np.zeros((B, Hq, Sq, Ev), dtype)
    lse = np.full((B, Hq, Sq), -np.inf, dtype)
    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    kl = [T] * B if key_lengths is None else [int(n) for n in key_lengths]
    ql = [Sq] * B if query_lengths is None else [int(n) for n in query_lengths]
    for b in range(B):
        pos = np.arange(Sq)[:, None] + (P if causal_alignment == "top_left" else kl[b] - ql[b])
        for h in range(Hq):
            g = h // (Hq // Hkv)
            parts = []
            for start in range(0, max(kl[b], 1), SPLIT):
                stop = min(start + SPLIT, kl[b])
                if stop <= start:
                    parts.append((np.zeros((Sq, Ev), dtype), np.full(Sq, -np.inf, dtype)))
                    continue
                j = np.arange(start, stop)
                bias = np.zeros((Sq, stop - start), dtype)
                if alibi_slopes is not None:
                    bias -= alibi_slopes[h] * np.abs(pos - j).astype(dtype)
                if mask is not None:
                    full = np.broadcast_to(mask, (B, Hq, Sq, T))[b, h][:, start:stop]
                    bias = np.where(full, bias, -np.inf) if full.dtype == np.bool_ else bias + full
                drop = np.zeros(bias.shape, bool)
                if is_causal:
                    drop |= j > pos
                if window is not None:
                    if window[0] is not None:
                        drop |= j < pos - window[0]
                    if window[1] is not None:
                        drop |= j > pos + window[1]
                bias = np.where(drop, -np.inf, bias).astype(dtype)
                parts.append(_partial(query[b, h], key[b, g, start:stop], value[b, g, start:stop], bias, factor, cap))
            out[b, h], lse[b, h] = _merge(parts, None if sinks is None else sinks[h], dtype)
    return {"output": out, "logsumexp": lse}


conventions = {"masked_nonfinite": "propagates"}

dtypes = ("float64", "float32")

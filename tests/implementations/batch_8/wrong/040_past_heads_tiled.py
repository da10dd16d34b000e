"""A recurrence over keys: the state of every query is a maximum, a sum and a mean, and each key updates it."""
import numpy as np


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


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    rep, T = Hq // Hkv, past + Sk
    real = np.promote_types(query.dtype, np.float32)
    factor = real.type(E ** -0.5 if scale is None else scale)
    L = np.full(B, T) if key_lengths is None else np.array(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.array(query_lengths)
    start = np.full(B, past) if causal_alignment == "top_left" else L - N
    position = np.broadcast_to((start[:, None] + np.arange(Sq))[:, None], (B, Hq, Sq))
    near, far = (None, None) if window is None else window
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))

    top = np.full((B, Hq, Sq), -np.inf, real)
    total = np.zeros((B, Hq, Sq), real)
    mean = np.zeros((B, Hq, Sq, Ev), real)
    q = query.astype(real)
    if sinks is not None:
        top = np.maximum(top, sinks.astype(real)[None, :, None])
        total = total + 1
    with np.errstate(all="ignore"):
        for j in range(T):
            k_j = (past_key[:, :, j] if j < past else key[:, :, j - past]).astype(real)
            v_j = (past_value[:, :, j] if j < past else value[:, :, j - past]).astype(real)
            spread = (lambda x: np.tile(x, (1, rep, 1))) if j < past else (lambda x: np.repeat(x, rep, axis=1))
            k_j, v_j = spread(k_j), spread(v_j)
            s = np.einsum("bhie,bhe->bhi", q, k_j) * factor
            if softcap:
                s = real.type(softcap) * np.tanh(s / real.type(softcap))
            if alibi_slopes is not None:
                s = s - alibi_slopes.astype(real)[:, None] * np.abs(position - j).astype(real)
            see = np.broadcast_to((j < L)[:, None, None], s.shape)
            if is_causal:
                see = see & (position >= j)
            if near is not None:
                see = see & (position - near <= j)
            if far is not None:
                see = see & (position + far >= j)
            if mask is not None and mask.dtype == bool:
                see = see & mask[..., j]
            elif mask is not None:
                s = s + mask[..., j]
                see = see & ~np.isneginf(mask[..., j])
            s = np.where(see, s, -np.inf)
            higher = np.maximum(top, s)
            shift = np.where(np.isneginf(higher), 0, higher)
            fade, e = np.exp(top - shift), np.exp(s - shift)
            total = total * fade + e
            mean = mean * fade[..., None] + np.where(see[..., None], e[..., None] * v_j[:, :, None], 0)
            top = higher
        output = mean / np.where(total == 0, 1, total)[..., None]
        logsumexp = np.where(total == 0, -np.inf, top + np.log(total))
    present_key = key if past == 0 else np.concatenate([past_key, key], axis=2)
    present_value = value if past == 0 else np.concatenate([past_value, value], axis=2)
    return output.astype(query.dtype)

dtypes = ("float64", "float32")

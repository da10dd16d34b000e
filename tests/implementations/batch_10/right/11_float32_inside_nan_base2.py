"""float32 inside, whatever comes in; fully masked rows are NaN, logarithms to base 2."""
import math
import numpy as np

conventions = {"accumulation": "float32", "fully_masked_row": "nan", "no_keys": "nan", "logsumexp_base": "2",
               "masked_nonfinite": "propagates"}


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
    f = np.float32
    cat = lambda past, new: (new if past is None else np.concatenate([past, new], 2)).astype(f)
    q, k, v = query.astype(f), cat(past_key, key), cat(past_value, value)
    rep = np.arange(Hq) * Hkv // Hq
    L = np.full(B, T) if key_lengths is None else key_lengths
    N = np.full(B, Sq) if query_lengths is None else query_lengths
    p0 = np.full(B, P) if causal_alignment == "top_left" else L - N
    delta = np.arange(T) - (p0[:, None, None, None] + np.arange(Sq)[:, None])
    x = np.einsum("bhie,bhje->bhij", q, k[:, rep]) * f(1 / math.sqrt(E) if scale is None else scale)
    if softcap:
        x = f(softcap) * np.tanh(x / f(softcap))
    if alibi_slopes is not None:
        x = x - alibi_slopes.astype(f)[:, None, None] * np.abs(delta).astype(f)
    no = np.broadcast_to(np.arange(T) >= L[:, None, None, None], x.shape)
    if is_causal:
        no = no | (delta > 0)
    if window is not None:
        a, z = window
        no = no if a is None else no | (delta < -a)
        no = no if z is None else no | (delta > z)
    if mask is not None:
        if mask.dtype == bool:
            no = no | ~mask
        else:
            x = x + mask.astype(f)
    x = np.where(no, f(-np.inf), x)
    if sinks is not None:
        x = np.concatenate([x, np.broadcast_to(sinks.astype(f)[:, None, None], (B, Hq, Sq, 1))], axis=-1)
    with np.errstate(all="ignore"):
        top = x.max(-1, keepdims=True, initial=-np.inf)
        e = np.exp(x - top)
        w = e / e.sum(-1, keepdims=True)
        lse = np.where(top == -np.inf, top, top + np.log(e.sum(-1, keepdims=True)))[..., 0] / f(math.log(2))
    out = np.einsum("bhij,bhjv->bhiv", w[..., :T], v[:, rep]) if T else np.full(
        (B, Hq, Sq, Ev), np.nan if sinks is None else 0, f)
    return {"output": out.astype(query.dtype), "logsumexp": lse.astype(query.dtype)}

dtypes = ("float64", "float32")

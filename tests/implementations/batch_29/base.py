"""Right implementations after the pages, in float64 inside; and parts that the other files use."""
import numpy as np
import ml_dtypes

ALL = ("float64", "float32", "bfloat16", "float16")
QUANT = ("float8_e4m3fn", "float8_e5m2", "int8")


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name)) if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2") else np.dtype(name)


def wide(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def check_mask(mask, full):
    if mask is None:
        return
    refuse(mask.ndim < 2 or mask.ndim > 4, "rank of mask")
    refuse(mask.shape[-1] != full[-1], "mask columns")
    for m, f in zip(mask.shape[::-1], full[::-1]):
        refuse(m not in (1, f), "mask does not broadcast")


def check(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          query_scale=None, key_scale=None, value_scale=None):
    refuse(any(a.ndim != 4 for a in (query, key, value)), "rank")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    refuse(key.shape[3] != E, "width")
    refuse(key.shape[0] != B or value.shape[0] != B, "batch")
    refuse(value.shape[1] != Hkv, "heads of key and value")
    refuse(Hq % Hkv != 0 if Hkv else Hq != 0, "grouped")
    refuse(value.shape[2] != Sk, "length")
    refuse((past_key is None) != (past_value is None), "past alone")
    P = 0
    if past_key is not None:
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank of past")
        P = past_key.shape[2]
        refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "past width")
        refuse(past_key.shape[0] != B or past_value.shape[0] != B, "past batch")
        refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "past heads")
        refuse(past_value.shape[2] != P, "past length")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            refuse(np.shape(lengths) != (B,), "lengths for another batch")
            refuse((np.asarray(lengths) < 0).any() or (np.asarray(lengths) > most).any(), "length out of range")
    for s in (query_scale, key_scale, value_scale):
        if s is not None:
            sh = np.shape(s)
            refuse(len(sh) > 2 or any(a not in (1, f) for a, f in zip(sh[::-1], (Hkv, B))), "scale shape")
    check_mask(mask, (B, Hq, Sq, P + Sk))
    return B, Hq, Hkv, Sq, Sk, P, E, value.shape[3]


def offsets(B, Sq, Sk, P, causal_alignment="top_left", key_lengths=None, query_lengths=None):
    """Position of query 0 of each batch entry, and the number of keys that count."""
    L = np.full(B, P + Sk) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    if causal_alignment == "bottom_right":
        return L - N, L
    return np.full(B, P), L


def allowed_of(off, L, Sq, n, is_causal=False, window=None):
    """(B, 1, Sq, n): what positions and lengths allow."""
    p = (off[:, None] + np.arange(Sq))[:, None, :, None]
    j = np.arange(n)
    ok = np.broadcast_to(j < np.asarray(L)[:, None, None, None], (len(off), 1, Sq, n)).copy()
    if is_causal:
        ok &= j <= p
    if window is not None:
        left, right = window
        if left is not None:
            ok &= j >= p - left
        if right is not None:
            ok &= j <= p + right
    return ok


def distance(off, Sq, n):
    p = (off[:, None] + np.arange(Sq))[:, None, :, None]
    return np.abs(p - np.arange(n))


def exclude_by(mask, ok):
    if mask is None:
        return ok
    return ok & (mask if mask.dtype == bool else ~np.isneginf(mask.astype(np.float64)))


def weigh(weights, value, ok):
    """Sum of weight times value over the keys of ok; what is not in ok has no effect. All (B, H, ...)."""
    fine = np.isfinite(value)
    with np.errstate(all="ignore"):
        out = np.matmul(weights, np.where(fine, value, 0))
        for b, h, j in np.argwhere(~fine.all(-1)):
            v = np.where(fine[b, h, j], 0, value[b, h, j])
            out[b, h] += np.where(ok[b, h, :, j, None] & ~fine[b, h, j], weights[b, h, :, j, None] * v, 0)
    return out


def core(q, k, v, ok, bias, scale, softcap=None, sinks=None):
    """q (B,H,Sq,E), k and v with as many heads, ok Boolean (B,H,Sq,n), bias or None. All in the wide dtype."""
    ct = q.dtype
    with np.errstate(all="ignore"):
        scores = np.matmul(q, np.swapaxes(k, -1, -2)) * ct.type(scale)
        logits = scores
        if softcap:
            logits = np.tanh(logits / ct.type(softcap)) * ct.type(softcap)
        if bias is not None:
            logits = logits + bias
        ok = np.broadcast_to(ok, logits.shape)
        logits = np.where(ok, logits, -np.inf).astype(ct)
        m = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            s = sinks.astype(ct)[:, None, None]
            m = np.maximum(m, s)
        m0 = np.where(np.isneginf(m), 0, m)
        e = np.where(ok, np.exp(logits - m0), 0)
        total = e.sum(axis=-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(s - m0)
        lse = (m0 + np.log(total))[..., 0]
        weights = np.where(ok, e / total, 0)
    return weigh(weights, v, ok), weights, lse, scores, logits


def dequantize(x, scale, ct):
    x = x.astype(ct)
    if scale is None:
        return x
    s = np.asarray(scale).astype(ct)
    return x * (s if s.ndim == 0 else s[..., None, None])


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None, ct=np.dtype(np.float64)):
    B, Hq, Hkv, Sq, Sk, P, E, Ev = check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths,
                                         query_scale, key_scale, value_scale)
    out_dtype = query.dtype
    if query.dtype.name in QUANT:
        out_dtype = dtype_of(output_dtype or "float32")
    quantized = any(s is not None for s in (query_scale, key_scale, value_scale))
    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    G = Hq // Hkv if Hkv else 1
    n = P + Sk
    k = np.repeat(dequantize(key, key_scale, ct), G, axis=1)
    v = np.repeat(dequantize(value, value_scale, ct), G, axis=1)
    q = query.astype(ct)
    if query_scale is not None:
        s = np.broadcast_to(np.asarray(query_scale).astype(ct), (B, Hkv))
        q = q * np.repeat(s, G, axis=1)[:, :, None, None]
    off, L = offsets(B, Sq, Sk, P, causal_alignment, key_lengths, query_lengths)
    ok = exclude_by(mask, np.broadcast_to(allowed_of(off, L, Sq, n, is_causal, window), (B, Hq, Sq, n)))
    bias = None
    if alibi_slopes is not None:
        bias = -alibi_slopes.astype(ct)[:, None, None] * distance(off, Sq, n)
    if mask is not None and mask.dtype != bool:
        bias = mask.astype(ct) if bias is None else bias + mask.astype(ct)
    out, weights, lse, scores, logits = core(q, k, v, ok, bias, E ** -0.5 if scale is None else scale, softcap, sinks)
    rest = out_dtype if out_dtype.itemsize > 4 else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        result = {"output": out.astype(out_dtype), "weights": weights.astype(rest), "logsumexp": lse.astype(rest),
                  "scores": scores.astype(rest), "logits": logits.astype(rest)}
    if not quantized:
        result["present_key"], result["present_value"] = key.copy(), value.copy()
    return result


def check_mha(query, key, value, w_query, w_key, w_value, w_output, biases, mask, num_heads):
    refuse(any(a.ndim != 3 for a in (query, key, value)), "rank")
    B, Sq, D = query.shape
    Sk = key.shape[1]
    refuse(D % num_heads != 0, "divisible")
    refuse(key.shape != (B, Sk, D) or value.shape != (B, Sk, D), "shapes of tokens")
    refuse(any(w.shape != (D, D) for w in (w_query, w_key, w_value, w_output)), "shapes of weights")
    refuse(any(b is not None and b.shape != (D,) for b in biases), "shapes of biases")
    check_mask(mask, (B, num_heads, Sq, Sk))
    return B, Sq, Sk, D, D // num_heads


def project(x, w, b, ct):
    y = np.matmul(x.astype(ct), w.astype(ct))
    return y if b is None else y + b.astype(ct)


def split(x, H):
    B, S, D = x.shape
    return x.reshape(B, S, H, D // H).transpose(0, 2, 1, 3)


def combine(x):
    B, H, S, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * d)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None, ct=np.dtype(np.float64)):
    B, Sq, Sk, D, d = check_mha(query, key, value, w_query, w_key, w_value, w_output,
                                (b_query, b_key, b_value, b_output), mask, num_heads)
    q = split(project(query, w_query, b_query, ct), num_heads)
    k = split(project(key, w_key, b_key, ct), num_heads)
    v = split(project(value, w_value, b_value, ct), num_heads)
    ok = allowed_of(np.zeros(B, int), np.full(B, Sk), Sq, Sk, is_causal)
    ok = exclude_by(mask, np.broadcast_to(ok, (B, num_heads, Sq, Sk)))
    bias = None if mask is None or mask.dtype == bool else mask.astype(ct)
    out, weights, *_ = core(q, k, v, ok, bias, d ** -0.5 if scale is None else scale)
    out = project(combine(out), w_output, b_output, ct)
    return {"output": out.astype(query.dtype), "weights": weights.astype(query.dtype)}


def check_single(x, w_query, w_key, w_value, w_output):
    refuse(any(a.ndim != 2 for a in (x, w_query, w_key, w_value)), "rank")
    D = x.shape[1]
    refuse(any(w.shape[0] != D for w in (w_query, w_key, w_value)), "rows of weights")
    refuse(w_query.shape != w_key.shape, "d_k")
    refuse(w_output is not None and (w_output.ndim != 2 or w_output.shape[0] != w_value.shape[1]), "w_output")


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1, keepdims=True)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None, ct=np.dtype(np.float64)):
    check_single(x, w_query, w_key, w_value, w_output)
    X = x.astype(ct)
    q, k, v = (X @ w.astype(ct) for w in (w_query, w_key, w_value))
    scores = q @ k.T * ct.type(w_query.shape[1] ** -0.5 if scale is None else scale)
    weights = softmax(scores)
    out = weights @ v
    if w_output is not None:
        out = out @ w_output.astype(ct)
    named = dict(output=out, weights=weights, scores=scores, query=q, key=k, value=v)
    return {name: a.astype(x.dtype) for name, a in named.items()}


def check_context(encoder_states, decoder_state):
    refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "rank")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "width")


def context_vector(encoder_states, decoder_state, scale=None, ct=np.dtype(np.float64)):
    check_context(encoder_states, decoder_state)
    h, s = encoder_states.astype(ct), decoder_state.astype(ct)
    raw = h @ s
    scores = raw * ct.type(h.shape[1] ** -0.5 if scale is None else scale)
    weights = softmax(scores)
    named = dict(context=weights @ h, weights=weights, scores=scores, raw_scores=raw)
    return {name: a.astype(encoder_states.dtype) for name, a in named.items()}


def packed(query, key, value, query_starts, key_starts, **kw):
    """The packed layout, sequence by sequence."""
    out = np.zeros(query.shape[:2] + value.shape[2:], query.dtype)
    lse = np.zeros(query.shape[:2])
    for b in range(len(query_starts) - 1):
        a, z = query_starts[b], query_starts[b + 1]
        c, d = key_starts[b], key_starts[b + 1]
        t = lambda x: x.swapaxes(0, 1)[None]
        r = scaled_dot_product_attention(t(query[a:z]), t(key[c:d]), t(value[c:d]), **kw)
        out[a:z] = r["output"][0].swapaxes(0, 1)
        lse[a:z] = r["logsumexp"][0].T
    return {"output": out, "logsumexp": lse}


def prepare(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
            alibi_slopes=None, is_causal=False, causal_alignment="top_left", window=None, scale=None):
    """Checks, past, widening, shared heads, positions: what stands before every kernel."""
    from types import SimpleNamespace
    B, Hq, Hkv, Sq, Sk, P, E, Ev = check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
    ct = wide(query.dtype)
    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    G = Hq // Hkv if Hkv else 1
    n = P + Sk
    off, L = offsets(B, Sq, Sk, P, causal_alignment, key_lengths, query_lengths)
    ok = exclude_by(mask, np.broadcast_to(allowed_of(off, L, Sq, n, is_causal, window), (B, Hq, Sq, n)))
    alibi = None if alibi_slopes is None else -alibi_slopes.astype(ct)[:, None, None] * distance(off, Sq, n).astype(ct)
    added = None if mask is None or mask.dtype == bool else np.broadcast_to(mask, (B, Hq, Sq, n)).astype(ct)
    bias = alibi if added is None else added if alibi is None else alibi + added
    return SimpleNamespace(
        B=B, Hq=Hq, Hkv=Hkv, Sq=Sq, Sk=Sk, P=P, n=n, E=E, Ev=Ev, G=G, ct=ct, off=off, L=L, ok=ok, alibi=alibi,
        added=added, bias=bias, q=query.astype(ct), k=np.repeat(key.astype(ct), G, axis=1),
        v=np.repeat(value.astype(ct), G, axis=1), scale=ct.type(E ** -0.5 if scale is None else scale), present=(key, value))

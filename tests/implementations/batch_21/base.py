"""Right implementations, from the pages. Everything is carried in float64."""
import math

import ml_dtypes
import numpy as np

QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")
FOUR = ("float64", "float32", "float16", "bfloat16")


def quiet():
    return np.errstate(all="ignore")


def up(a):
    with quiet():
        return np.array(a).astype(np.float64)


def down(a, dtype):
    with quiet():
        return np.asarray(a).astype(dtype)


def named_dtype(name):
    return np.dtype(getattr(ml_dtypes, str(name))) if "float8" in str(name) or str(name) == "bfloat16" else np.dtype(name)


def need(condition, why="shapes do not fit"):
    if not condition:
        raise ValueError(why)


def group(hq, hkv):
    if hkv == 0:
        need(hq == 0, "heads")
        return 1
    need(hq % hkv == 0, "heads")
    return hq // hkv


# ---- pieces ----------------------------------------------------------------------------------------------------------


def keep(p, j, heads, mask=None, is_causal=False, window=None, slopes=None):
    """(allowed, bias), both (heads, len(p), len(j)); the mask broadcasts to that."""
    p, j = np.asarray(p)[:, None], np.asarray(j)[None, :]
    ok = np.ones((heads, p.shape[0], j.shape[1]), bool)
    bias = np.zeros(ok.shape)
    if is_causal:
        ok &= j <= p
    if window is not None:
        left, right = window
        if left is not None:
            ok &= j >= p - left
        if right is not None:
            ok &= j <= p + right
    with quiet():
        if slopes is not None:
            bias = bias - up(slopes)[:, None, None] * np.abs(p - j)
        if mask is not None:
            if mask.dtype == bool:
                ok &= mask
            else:
                numbers = up(mask)
                ok &= numbers != -np.inf
                bias = bias + numbers
    return ok, bias


def cap(s, softcap):
    with quiet():
        return softcap * np.tanh(s / softcap) if softcap else s


def weigh(w, v, ok):
    """(..., N, K) with (..., K, Ev), where what is excluded has no effect."""
    with quiet():
        if np.isfinite(v).all():
            return w @ v
        return np.where(ok[..., None], w[..., None] * v[..., None, :, :], 0.0).sum(axis=-2)


def finish(m, l, acc, sink=None):
    """The running largest, sum and weighted sum to (output, logsumexp); sink broadcasts to m."""
    with quiet():
        top = m if sink is None else np.maximum(m, sink)
        safe = np.where(top == -np.inf, 0.0, top)
        shrink = np.exp(m - safe)
        total = l * shrink + (0.0 if sink is None else np.exp(sink - safe))
        out = np.where((total == 0)[..., None], 0.0, acc * shrink[..., None] / np.where(total == 0, 1.0, total)[..., None])
        return out, np.log(total) + safe


def attend(q, k, v, p, mask=None, slopes=None, sinks=None, scale=None, softcap=None, is_causal=False, window=None, live=None):
    """One sequence: q (Hq, N, E), k (Hkv, L, E), v (Hkv, L, Ev), in float64. All outputs."""
    hq, n, e = q.shape
    g = group(hq, k.shape[0])
    k, v = np.repeat(k, g, axis=0), np.repeat(v, g, axis=0)
    j = np.arange(k.shape[1])
    ok, bias = keep(p, j, hq, mask, is_causal, window, slopes)
    if live is not None:
        ok &= (j < live)[None, None, :]
    with quiet():
        scores = (q @ k.swapaxes(-1, -2)) * (1 / math.sqrt(e) if scale is None else scale)
        logits = np.where(ok, cap(scores, softcap) + bias, -np.inf)
        m = logits.max(axis=-1, initial=-np.inf)
        safe = np.where(m == -np.inf, 0.0, m)[..., None]
        x = np.where(ok, np.exp(logits - safe), 0.0)
        l = x.sum(axis=-1)
        sink = None if sinks is None else up(sinks)[:, None]
        _, lse = finish(np.where(m == -np.inf, 0.0, m), l, np.zeros((*l.shape, 1)), sink)
        top = safe[..., 0] if sink is None else np.maximum(safe[..., 0], sink)
        total = l * np.exp(safe[..., 0] - top) + (0 if sink is None else np.exp(sink - top))
        w = np.where((total == 0)[..., None] | ~ok, 0.0, x * np.exp(safe - top[..., None]) / np.where(total == 0, 1, total)[..., None])
    if sink is not None:  # rows without keys, beside a very low sink
        dead = ~ok.any(axis=-1)
        lse = np.where(dead, np.broadcast_to(sink, lse.shape), lse)
        w = np.where(dead[..., None], 0.0, w)
    return {"output": weigh(w, v, ok), "weights": w, "logsumexp": lse, "scores": scores, "logits": logits}


# ---- the plain layout ------------------------------------------------------------------------------------------------


def check_plain(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, scales, causal_alignment):
    """Refuses; gives (B, Hq, Sq, E, Hkv, Sk, P, Ev)."""
    for a in (query, key, value):
        need(a.ndim == 4, "rank")
    b, hq, sq, e = query.shape
    _, hkv, sk, _ = key.shape
    need(key.shape[3] == e, "width")
    need(key.shape[0] == b and value.shape[0] == b, "batch")
    need(value.shape[1] == hkv, "heads")
    group(hq, hkv)
    need(value.shape[2] == sk, "length")
    need((past_key is None) == (past_value is None), "past")
    p = 0
    if past_key is not None:
        need(past_key.ndim == 4 and past_value.ndim == 4, "rank")
        need(key_lengths is None and query_lengths is None, "past and lengths")
        need(past_key.shape[3] == e and past_value.shape[3] == value.shape[3], "width")
        need(past_key.shape[0] == b and past_value.shape[0] == b, "batch")
        need(past_key.shape[1] == hkv and past_value.shape[1] == hkv, "heads")
        p = past_key.shape[2]
        need(past_value.shape[2] == p, "length")
    for lengths, most in ((key_lengths, sk), (query_lengths, sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            need(lengths.shape == (b,), "batch")
            need(not len(lengths) or (lengths.min() >= 0 and lengths.max() <= most), "length")
    if mask is not None:
        need(2 <= mask.ndim <= 4 and mask.shape[-1] == p + sk, "mask")
        for have, want in zip(mask.shape[::-1], (p + sk, sq, hq, b)):
            need(have in (1, want), "mask")
    for s in scales:
        if s is not None:
            s = np.asarray(s)
            need(s.ndim <= 2, "scale")
            for have, want in zip(s.shape[::-1], (hkv, b)):
                need(have in (1, want), "scale")
    need(causal_alignment in ("top_left", "bottom_right"), "alignment")
    return b, hq, sq, e, hkv, sk, p, value.shape[3]


def scale_table(s, b, hkv):
    return np.broadcast_to(up(s), (b, hkv))


def result_dtype(query, output_dtype):
    if query.dtype.name in QUANTIZED:
        return np.dtype(np.float32) if output_dtype is None else named_dtype(output_dtype)
    return query.dtype


def sdpa(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
         alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
         causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    b, hq, sq, e, hkv, sk, past, ev = check_plain(query, key, value, mask, past_key, past_value, key_lengths,
                                                  query_lengths, (query_scale, key_scale, value_scale), causal_alignment)
    dtype = result_dtype(query, output_dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    q, k, v = up(query), up(key), up(value)
    if query_scale is not None:
        q = q * np.repeat(scale_table(query_scale, b, hkv), group(hq, hkv), axis=1)[:, :, None, None]
    if key_scale is not None:
        k = k * scale_table(key_scale, b, hkv)[:, :, None, None]
    if value_scale is not None:
        v = v * scale_table(value_scale, b, hkv)[:, :, None, None]
    total = past + sk
    m4 = None if mask is None else np.broadcast_to(mask, (b, hq, sq, total))
    parts = []
    for i in range(b):
        L = total if key_lengths is None else int(key_lengths[i])
        N = sq if query_lengths is None else int(query_lengths[i])
        p = np.arange(sq) + (past if causal_alignment == "top_left" else L - N)
        parts.append(attend(q[i], k[i], v[i], p, None if m4 is None else m4[i], alibi_slopes, sinks, scale, softcap,
                            is_causal, window, live=L))
    shapes = {"output": (0, hq, sq, ev), "logsumexp": (0, hq, sq)}
    shapes |= {name: (0, hq, sq, total) for name in ("weights", "scores", "logits")}
    out = {name: down(np.stack([part[name] for part in parts]) if b else np.zeros(shape),
                      dtype if name == "output" else wide) for name, shape in shapes.items()}
    if query_scale is None and key_scale is None and value_scale is None:
        out["present_key"], out["present_value"] = np.array(key), np.array(value)
    return out


# ---- serving ---------------------------------------------------------------------------------------------------------


def serving_mask(mask, hq, most):
    """(1 or Hq, 1, columns)."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    need(1 <= mask.ndim <= 4, "mask")
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    need(mask.shape[0] == 1 and mask.shape[2] == 1 and mask.shape[1] in (1, hq) and mask.shape[3] >= most, "mask")
    return mask[0]


def check_packed(query, key, value, query_starts, key_starts, mask, causal_alignment="top_left"):
    for a in (query, key, value):
        need(a.ndim == 3, "rank")
    qs, ks = np.asarray(query_starts).astype(int), np.asarray(key_starts).astype(int)
    need(qs.ndim == 1 and qs.shape == ks.shape and len(qs) >= 1, "batch")
    need(query.shape[2] == key.shape[2], "width")
    need(key.shape[1] == value.shape[1], "heads")
    group(query.shape[1], key.shape[1])
    need(key.shape[0] == value.shape[0], "length")
    need(qs[0] == 0 and ks[0] == 0 and qs[-1] == query.shape[0] and ks[-1] == key.shape[0], "starts")
    need((np.diff(qs) >= 0).all() and (np.diff(ks) >= 0).all(), "starts")
    need(causal_alignment in ("top_left", "bottom_right"), "alignment")
    return qs, ks, serving_mask(mask, query.shape[1], int(np.diff(ks).max(initial=0)))


def packed(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
           causal_alignment="top_left", scale=None, softcap=None, window=None):
    qs, ks, m3 = check_packed(query, key, value, query_starts, key_starts, mask, causal_alignment)
    out = np.zeros((query.shape[0], query.shape[1], value.shape[2]))
    lse = np.zeros(query.shape[:2])
    for b in range(len(qs) - 1):
        n, L = qs[b + 1] - qs[b], ks[b + 1] - ks[b]
        p = np.arange(n) + (0 if causal_alignment == "top_left" else L - n)
        rows, cols = slice(qs[b], qs[b + 1]), slice(ks[b], ks[b + 1])
        got = attend(up(query[rows]).swapaxes(0, 1), up(key[cols]).swapaxes(0, 1), up(value[cols]).swapaxes(0, 1), p,
                     None if m3 is None else m3[..., :L], alibi_slopes, sinks, scale, softcap, is_causal, window)
        out[rows], lse[rows] = got["output"].swapaxes(0, 1), got["logsumexp"].T
    return {"output": down(out, query.dtype), "logsumexp": down(lse, wide_of(query))}


def wide_of(query):
    return np.float64 if query.dtype == np.float64 else np.float32


def check_paged(query, key_pool, value_pool, lengths, query_lengths, mask, heads_first, most=None,
                causal_alignment="top_left"):
    """Refuses; gives (key pool, value pool as (pages, size, heads, features), L, N, mask)."""
    for a in (query, key_pool, value_pool):
        need(a.ndim == 4, "rank")
    if heads_first:
        key_pool, value_pool = key_pool.swapaxes(1, 2), value_pool.swapaxes(1, 2)
    b, hq, sq, e = query.shape
    need(key_pool.shape[3] == e, "width")
    need(key_pool.shape[2] == value_pool.shape[2], "heads")
    group(hq, key_pool.shape[2])
    need(key_pool.shape[:2] == value_pool.shape[:2], "length")
    L = np.asarray(lengths).astype(int)
    need(L.shape == (b,), "batch")
    need((L >= 0).all(), "length")
    if most is not None:
        need((L <= most).all(), "length")
    if query_lengths is None:
        N = np.full(b, sq)
    else:
        N = np.asarray(query_lengths).astype(int)
        need(N.shape == (b,), "batch")
        need(((N >= 0) & (N <= sq)).all(), "length")
    need(causal_alignment in ("top_left", "bottom_right"), "alignment")
    return key_pool, value_pool, L, N, serving_mask(mask, hq, int(L.max(initial=0)))


def csr_lengths(page_starts, last_page_length, size):
    count = np.diff(np.asarray(page_starts).astype(int))
    need((count >= 0).all(), "starts")
    last = np.asarray(last_page_length).astype(int)
    need(last.shape == count.shape, "batch")
    return np.where(count > 0, (count - 1) * size + last, 0)


def start_of(alignment, L, n):
    return 0 if alignment == "top_left" else L - n


def _pages(query, key_pool, value_pool, L, N, mask, pages_of, options):
    b, hq, sq, e = query.shape
    size = key_pool.shape[1]
    out, lse = np.zeros((b, hq, sq, value_pool.shape[3])), np.zeros((b, hq, sq))
    alignment = options.pop("causal_alignment")
    for i in range(b):
        j = np.arange(L[i])
        pages = np.asarray(pages_of(i, -(-L[i] // size))).astype(int)
        k = up(key_pool[pages[j // size], j % size]).swapaxes(0, 1)
        v = up(value_pool[pages[j // size], j % size]).swapaxes(0, 1)
        n = N[i]
        p = np.arange(n) + start_of(alignment, L[i], n)
        got = attend(up(query[i, :, :n]), k, v, p, None if mask is None else mask[..., : L[i]], **options)
        out[i, :, :n], lse[i, :, :n] = got["output"], got["logsumexp"]
    return {"output": down(out, query.dtype), "logsumexp": down(lse, wide_of(query))}


def _paged(heads_first):
    def paged(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
              alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
        block_table = np.asarray(block_table)
        need(block_table.ndim == 2 and block_table.shape[0] == query.shape[0], "batch")
        most = block_table.shape[1] * key_pool.shape[2 if heads_first else 1]
        kp, vp, L, N, m = check_paged(query, key_pool, value_pool, key_lengths, query_lengths, mask, heads_first, most,
                                      causal_alignment)
        return _pages(query, kp, vp, L, N, m, lambda i, n: block_table[i, :n],
                      dict(slopes=alibi_slopes, sinks=sinks, scale=scale, softcap=softcap, is_causal=is_causal,
                           window=window, causal_alignment=causal_alignment))
    return paged


def _csr(heads_first):
    def csr(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
            sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
            window=None):
        lengths = csr_lengths(page_starts, last_page_length, key_pool.shape[2 if heads_first else 1])
        kp, vp, L, N, m = check_paged(query, key_pool, value_pool, lengths, query_lengths, mask, heads_first, None,
                                      causal_alignment)
        return _pages(query, kp, vp, L, N, m, lambda i, n: page_indices[page_starts[i]:page_starts[i] + n],
                      dict(slopes=alibi_slopes, sinks=sinks, scale=scale, softcap=softcap, is_causal=is_causal,
                           window=window, causal_alignment=causal_alignment))
    return csr


paged, paged_heads_first = _paged(False), _paged(True)
paged_csr, paged_csr_heads_first = _csr(False), _csr(True)


# ---- rotary ----------------------------------------------------------------------------------------------------------


def check_rotary(x, cos, sin, pairing):
    need(x.ndim == 4 and cos.ndim == 3 and sin.ndim == 3, "rank")
    need(cos.shape == sin.shape, "tables")
    need(cos.shape[:2] == (x.shape[0], x.shape[2]), "tokens")
    need(2 * cos.shape[2] <= x.shape[3], "width")
    need(pairing in ("half", "interleaved"), "pairing")


def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    r = cos.shape[2]
    c, s = up(cos)[:, None], up(sin)[:, None]
    first, second = (slice(0, r), slice(r, 2 * r)) if pairing == "half" else (slice(0, 2 * r, 2), slice(1, 2 * r, 2))
    out = np.array(x, order="C", copy=True)
    a, b = up(x[..., first]), up(x[..., second])
    with quiet():
        out[..., first], out[..., second] = down(c * a - s * b, x.dtype), down(s * a + c * b, x.dtype)
    return out


def check_tables(position_ids, inverse_frequencies):
    need(position_ids.ndim == 2 and inverse_frequencies.ndim == 1, "rank")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    check_tables(position_ids, inverse_frequencies)
    phase = up(position_ids)[:, :, None] * up(inverse_frequencies)
    factor = 1.0 if attention_factor is None else attention_factor
    dtype = inverse_frequencies.dtype
    return {"cos": down(np.cos(phase) * factor, dtype), "sin": down(np.sin(phase) * factor, dtype)}


SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


def check_frequencies(width, theta, scaling, factor, original_length, low, high, short, long, proportion):
    need(width % 2 == 0 and width >= 2, "width")
    need(scaling in SCALINGS, "scaling")
    if scaling not in ("none", "proportional"):
        need(factor is not None, "factor")
    if scaling in ("dynamic", "llama3", "longrope", "yarn"):
        need(original_length is not None, "original_length")
    if scaling == "llama3":
        need(low is not None and high is not None, "llama3")
        need(high > low, "llama3")
    if scaling == "longrope":
        need(short is not None and long is not None, "longrope")
        need(np.shape(short) == (width // 2,) and np.shape(long) == (width // 2,), "lists")
    need(theta > 0, "theta")
    if scaling != "none" and factor is not None:
        need(factor > 0, "factor")
    if scaling == "yarn":
        need(theta > 1, "theta")
    if scaling == "dynamic":
        need(width >= 4, "width")
    if scaling == "proportional":
        need(0 <= proportion <= 1, "proportion")


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    scaling = "none" if scaling is None else scaling
    check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor, high_frequency_factor,
                      short_factors, long_factors, proportion)
    i = np.arange(width // 2)
    s, L0 = factor, original_length
    n = L0 if sequence_length is None else sequence_length
    base = theta
    if scaling == "dynamic" and n > L0:
        base = theta * (s * n / L0 - s + 1) ** (width / (width - 2))
    f = np.power(float(base), -2.0 * i / width)
    given = 1.0
    if scaling == "linear":
        f = f / s
    elif scaling == "llama3":
        g = (L0 * f / (2 * math.pi) - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        g = np.clip(g, 0, 1)
        f = g * f + (1 - g) * f / s
    elif scaling == "longrope":
        f = f / np.array(long_factors if n > L0 else short_factors, float)
        given = math.sqrt(1 + math.log(s) / math.log(L0)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        f = np.where(i < math.floor(proportion * (width // 2)), f / (1.0 if s is None else s), 0.0)
    elif scaling == "yarn":
        low, high = (width * math.log(L0 / (2 * math.pi * b)) / (2 * math.log(theta)) for b in (beta_fast, beta_slow))
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        r = np.clip((i - low) / (high - low), 0, 1)
        f = r * f / s + (1 - r) * f

        def m(a):
            return 0.1 * a * math.log(s) + 1

        if attention_factor is not None:
            given = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            given = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            given = m(1.0)
    return {"inverse_frequencies": f, "attention_factor": np.float64(given)}


# ---- the rest --------------------------------------------------------------------------------------------------------


def split_heads(x, num_heads):
    b, s, d = x.shape
    need(num_heads > 0 and d % num_heads == 0, "heads")
    return np.array(x.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3))


def combine_heads(x):
    need(x.ndim == 4, "rank")
    b, h, s, e = x.shape
    return np.array(x.transpose(0, 2, 1, 3)).reshape(b, s, h * e)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    ok = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return np.where(ok, 0.0, -np.inf) if additive else ok


def softmax(x, axis=-1):
    with quiet():
        wide = up(x)
        e = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))
        return down(e / e.sum(axis=axis, keepdims=True), x.dtype)


def check_context(encoder_states, decoder_state):
    need(encoder_states.ndim == 2 and decoder_state.shape == encoder_states.shape[1:], "width")


def context_vector(encoder_states, decoder_state, scale=None):
    check_context(encoder_states, decoder_state)
    k, q = up(encoder_states), up(decoder_state)
    with quiet():
        raw = k @ q
        scores = raw * (1 / math.sqrt(len(q)) if scale is None else scale)
        e = np.exp(scores - scores.max(initial=-np.inf))
        w = e / e.sum()
        got = {"context": w @ k, "weights": w, "scores": scores, "raw_scores": raw}
    return {name: down(a, encoder_states.dtype if name == "context" else wide_of(encoder_states)) for name, a in got.items()}


def check_single(x, w_query, w_key, w_value, w_output):
    for a in (x, w_query, w_key, w_value):
        need(a.ndim == 2, "rank")
    d = x.shape[1]
    need(w_query.shape[0] == d and w_key.shape[0] == d and w_value.shape[0] == d and w_query.shape == w_key.shape)
    need(w_output is None or (w_output.ndim == 2 and w_output.shape[0] == w_value.shape[1]))


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    t = up(x)
    with quiet():
        q, k, v = t @ up(w_query), t @ up(w_key), t @ up(w_value)
        scores = q @ k.T * (1 / math.sqrt(q.shape[1]) if scale is None else scale)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        w = e / e.sum(axis=-1, keepdims=True)
        out = w @ v
        if w_output is not None:
            out = out @ up(w_output)
    got = {"output": out, "weights": w, "scores": scores, "query": q, "key": k, "value": v}
    return {name: down(a, x.dtype) for name, a in got.items()}


def check_multi(query, key, value, weights, biases, mask, num_heads):
    for a in (query, key, value):
        need(a.ndim == 3, "rank")
    b, sq, d = query.shape
    sk = key.shape[1]
    need(num_heads > 0 and d % num_heads == 0, "heads")
    need(key.shape == (b, sk, d) and value.shape == (b, sk, d))
    for w in weights:
        need(w.shape == (d, d))
    for bias in biases:
        need(bias is None or bias.shape == (d,))
    if mask is not None:
        need(2 <= mask.ndim <= 4 and mask.shape[-1] == sk, "mask")
        for have, want in zip(mask.shape[::-1], (sk, sq, num_heads, b)):
            need(have in (1, want), "mask")
    return b, sq, sk, d, d // num_heads


def project(x, w, bias):
    with quiet():
        y = up(x) @ up(w)
        return y if bias is None else y + up(bias)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                  (b_query, b_key, b_value, b_output), mask, num_heads)
    q, k, v = (split_heads(project(*t), num_heads)
               for t in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
    got = sdpa(q, k, v, mask=mask, is_causal=is_causal, scale=scale)
    out = project(combine_heads(got["output"]), w_output, b_output)
    return {"output": down(out, query.dtype), "weights": down(got["weights"], query.dtype)}

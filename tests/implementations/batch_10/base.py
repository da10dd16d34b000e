"""A right implementation of every operation, in steps that can be replaced one at a time."""
import math
from types import SimpleNamespace
import numpy as np

conventions = {}
dtypes = ("float64", "float32")


def wide_of(dtype):
    dtype = np.dtype(dtype)
    return dtype if dtype.itemsize >= 4 and dtype.kind == "f" else np.dtype(np.float32)


def need(condition, message):
    if not condition:
        raise ValueError(message)


# ---------------------------------------------------------------- scaled dot-product attention
def check(c):
    q, k, v = c.query, c.key, c.value
    need(q.ndim == 4 and k.ndim == 4 and v.ndim == 4, "rank")
    need(q.shape[3] == k.shape[3], "width")
    need(q.shape[3] > 0, "no features")
    need(q.shape[0] == k.shape[0] == v.shape[0], "batch")
    need(k.shape[1] == v.shape[1] and k.shape[1] > 0 and q.shape[1] % k.shape[1] == 0, "heads")
    need(k.shape[2] == v.shape[2], "length")
    need((c.past_key is None) == (c.past_value is None), "past_key and past_value come together")
    if c.past_key is not None:
        need(c.key_lengths is None and c.query_lengths is None, "past and lengths")
        pk, pv = c.past_key, c.past_value
        need(pk.ndim == 4 and pv.ndim == 4 and pk.shape[2] == pv.shape[2], "past length")
        need(pk.shape[:2] == k.shape[:2] and pk.shape[3] == k.shape[3], "past key")
        need(pv.shape[:2] == v.shape[:2] and pv.shape[3] == v.shape[3], "past value")
    P = 0 if c.past_key is None else c.past_key.shape[2]
    T = P + k.shape[2]
    B, Hq, Sq = q.shape[:3]
    if c.mask is not None:
        need(2 <= c.mask.ndim <= 4 and c.mask.shape[-1] == T, "mask")
        full = (B, Hq, Sq, T)
        for have, want in zip(c.mask.shape[::-1], full[::-1]):
            need(have in (1, want), "mask")
    for lengths, top in ((c.key_lengths, k.shape[2]), (c.query_lengths, Sq)):
        if lengths is not None:
            need(lengths.shape == (B,) and (lengths >= 0).all() and (lengths <= top).all(), "lengths")
    for per_head in (c.sinks, c.alibi_slopes):
        need(per_head is None or per_head.shape == (Hq,), "per head")
    need(c.softcap is None or c.softcap >= 0, "softcap")
    need(c.causal_alignment in ("top_left", "bottom_right"), "alignment")
    c.B, c.Hq, c.Sq, c.E = q.shape
    c.Hkv, c.Sk, c.Ev, c.P, c.T = k.shape[1], k.shape[2], v.shape[3], P, T


def prepend(c):
    if c.past_key is None:
        c.present_key, c.present_value = c.key.copy(), c.value.copy()
    else:
        c.present_key = np.concatenate([c.past_key, c.key], axis=2)
        c.present_value = np.concatenate([c.past_value, c.value], axis=2)


def widen(c):
    c.wide = wide_of(c.query.dtype)
    c.q, c.k, c.v = (a.astype(c.wide) for a in (c.query, c.present_key, c.present_value))


def place(c):
    c.L = np.full(c.B, c.T) if c.key_lengths is None else np.asarray(c.key_lengths).astype(np.int64)
    c.N = np.full(c.B, c.Sq) if c.query_lengths is None else np.asarray(c.query_lengths).astype(np.int64)
    first = np.full(c.B, c.P) if c.causal_alignment == "top_left" else c.L - c.N
    c.p = first[:, None] + np.arange(c.Sq)[None, :]


def share(c):
    group = c.Hq // c.Hkv
    c.k, c.v = np.repeat(c.k, group, axis=1), np.repeat(c.v, group, axis=1)


def score(c):
    c.dots = c.q @ np.swapaxes(c.k, -1, -2)


def scale(c):
    factor = 1.0 / math.sqrt(c.E) if c.scale is None else float(c.scale)
    c.scores = c.dots * c.wide.type(factor)


def cap(c):
    c.logits = c.scores
    if c.softcap:
        s = c.wide.type(c.softcap)
        c.logits = s * np.tanh(c.scores / s)


def bias(c):
    if c.alibi_slopes is not None:
        distance = np.abs(c.p[:, None, :, None] - np.arange(c.T)).astype(c.wide)
        c.logits = c.logits - c.alibi_slopes.astype(c.wide)[None, :, None, None] * distance


def add_mask(c):
    if c.mask is not None and c.mask.dtype != np.bool_:
        c.logits = c.logits + c.mask.astype(c.wide)


def allow(c):
    j, p = np.arange(c.T), c.p[:, None, :, None]
    ok = np.broadcast_to(j < c.L[:, None, None, None], (c.B, c.Hq, c.Sq, c.T)).copy()
    if c.is_causal:
        ok &= j <= p
    if c.window is not None:
        left, right = c.window
        if left is not None:
            ok &= j >= p - left
        if right is not None:
            ok &= j <= p + right
    if c.mask is not None:
        ok &= c.mask if c.mask.dtype == np.bool_ else c.mask.astype(c.wide) != -np.inf
    c.ok = ok


def exclude(c):
    c.logits = np.where(c.ok, c.logits, c.wide.type(-np.inf))


def normalise(c):
    m = np.max(c.logits, axis=-1, initial=-np.inf)
    if c.sinks is not None:
        sink = c.sinks.astype(c.wide)[None, :, None]
        m = np.maximum(m, sink)
    safe = np.where(m == -np.inf, 0, m).astype(c.wide)
    e = np.exp(c.logits - safe[..., None])
    total = e.sum(axis=-1)
    if c.sinks is not None:
        total = total + np.exp(sink - safe)
    c.weights = e / np.where(total == 0, 1, total)[..., None]
    c.logsumexp = np.log(total) + safe


def weigh(c):
    if np.isfinite(c.v).all():
        c.output = c.weights @ c.v
    else:
        product = c.weights[..., None] * c.v[:, :, None, :, :]
        c.output = np.where(c.ok[..., None], product, 0).sum(axis=3)


def finish(c):
    dtype = c.query.dtype
    c.result = {"output": c.output.astype(dtype), "weights": c.weights, "logsumexp": c.logsumexp, "scores": c.scores,
                "logits": c.logits, "present_key": c.present_key, "present_value": c.present_value}


ORDER = ("check", "prepend", "widen", "place", "share", "score", "scale", "cap", "bias", "add_mask", "allow", "exclude",
         "normalise", "weigh", "finish")


def attend(arguments, **replaced):
    """Run the steps; `replaced` holds other functions for some of them."""
    c = SimpleNamespace(**arguments)
    with np.errstate(all="ignore"):
        for name in ORDER:
            replaced.get(name, globals()[name])(c)
    return c.result


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return attend(dict(locals()))


# ---------------------------------------------------------------- the small ones
def softmax(x, axis=-1):
    w = np.asarray(x).astype(wide_of(x.dtype))
    with np.errstate(all="ignore"):
        e = np.exp(w - np.max(w, axis=axis, keepdims=True)) if w.size else w
        return {"output": (e / np.sum(e, axis=axis, keepdims=True)).astype(x.dtype)}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    ok = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return {"output": np.where(ok, 0.0, -np.inf) if additive else ok}


def split_heads(x, num_heads):
    b, s, f = x.shape
    need(num_heads > 0 and f % num_heads == 0, "num_heads")
    return {"output": x.reshape(b, s, num_heads, f // num_heads).transpose(0, 2, 1, 3)}


def combine_heads(x):
    b, h, s, e = x.shape
    return {"output": x.transpose(0, 2, 1, 3).reshape(b, s, h * e)}


def context_vector(encoder_states, decoder_state, scale=None):
    need(encoder_states.ndim == 2 and decoder_state.ndim == 1, "rank")
    need(encoder_states.shape[1] == decoder_state.shape[0], "width")
    dtype, wide = encoder_states.dtype, wide_of(encoder_states.dtype)
    states, state = encoder_states.astype(wide), decoder_state.astype(wide)
    raw = states @ state
    scores = raw * wide.type(1 / math.sqrt(len(state)) if scale is None else scale)
    weights = softmax(scores)["output"]
    return {"context": (weights @ states).astype(dtype), "weights": weights, "scores": scores, "raw_scores": raw}


def glorot_normal(fan_in, fan_out, seed):
    rng = np.random.default_rng(seed)
    return {"output": rng.standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    dtype, wide = x.dtype, wide_of(x.dtype)
    t = x.astype(wide)
    q, k, v = (t @ w.astype(wide) for w in (w_query, w_key, w_value))
    need(q.shape == k.shape, "width")
    scores = q @ k.T * wide.type(1 / math.sqrt(q.shape[1]) if scale is None else scale)
    weights = softmax(scores)["output"]
    out = weights @ v
    if w_output is not None:
        out = out @ w_output.astype(wide)
    return {"output": out.astype(dtype), "weights": weights, "scores": scores, "query": q, "key": k, "value": v}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    need(query.ndim == key.ndim == value.ndim == 3, "rank")
    need(num_heads > 0 and query.shape[2] % num_heads == 0, "num_heads")
    dtype, wide = query.dtype, wide_of(query.dtype)

    def project(x, w, b):
        y = x.astype(wide) @ w.astype(wide)
        return y if b is None else y + b.astype(wide)

    q, k, v = project(query, w_query, b_query), project(key, w_key, b_key), project(value, w_value, b_value)
    heads = [split_heads(a, num_heads)["output"] for a in (q, k, v)]
    inner = scaled_dot_product_attention(*heads, mask=mask, is_causal=is_causal, scale=scale)
    out = project(combine_heads(inner["output"])["output"], w_output, b_output)
    return {"output": out.astype(dtype), "weights": inner["weights"]}


# ---------------------------------------------------------------- rotary
def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    scaling = "none" if scaling is None else scaling
    need(width >= 2 and width % 2 == 0, "width")
    needed = {"none": (), "linear": ("factor",), "dynamic": ("factor", "original_length"),
              "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
              "longrope": ("factor", "original_length", "short_factors", "long_factors"), "proportional": (),
              "yarn": ("factor", "original_length")}
    need(scaling in needed, "scaling")
    here = dict(locals())
    for name in needed[scaling]:
        need(here[name] is not None, name)
    need(theta > 0, "theta")
    uses_factor = scaling != "none"
    need(not uses_factor or factor is None or factor > 0, "factor")
    half = width // 2
    i = np.arange(half, dtype=np.float64)
    n = original_length if sequence_length is None else sequence_length
    stretched = float(theta)
    if scaling == "dynamic":
        need(width >= 4, "width")
        longest = max(n, original_length)
        stretched = theta * (factor * longest / original_length - factor + 1) ** (width / (width - 2))
    f = stretched ** (-2 * i / width)
    att = 1.0
    if scaling == "linear":
        f = f / factor
    elif scaling == "llama3":
        need(high_frequency_factor > low_frequency_factor, "range")
        turns = original_length * f / (2 * math.pi)
        g = np.clip((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0, 1)
        f = g * f + (1 - g) * f / factor
    elif scaling == "longrope":
        need(len(short_factors) == half and len(long_factors) == half, "factor lists")
        f = f / np.asarray(long_factors if n > original_length else short_factors, dtype=np.float64)
        att = math.sqrt(1 + math.log(factor) / math.log(original_length)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        need(0 <= proportion <= 1, "proportion")
        f = np.where(i < math.floor(proportion * half), f / (1 if factor is None else factor), 0)
    elif scaling == "yarn":
        need(theta > 1, "theta")

        def d(b):
            return width * math.log(original_length / (2 * math.pi * b)) / (2 * math.log(theta))

        low, high = d(beta_fast), d(beta_slow)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        r = np.clip((i - low) / (high - low), 0, 1)
        f = r * f / factor + (1 - r) * f

        def m(a):
            return 0.1 * a * math.log(factor) + 1

        if attention_factor is not None:
            att = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            att = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            att = m(1)
    return {"inverse_frequencies": f, "attention_factor": np.float64(att)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    need(position_ids.ndim == 2 and inverse_frequencies.ndim == 1, "rank")
    dtype, wide = inverse_frequencies.dtype, wide_of(inverse_frequencies.dtype)
    phase = position_ids.astype(wide)[:, :, None] * inverse_frequencies.astype(wide)
    factor = wide.type(attention_factor)
    return {"cos": (np.cos(phase) * factor).astype(dtype), "sin": (np.sin(phase) * factor).astype(dtype)}


def apply_rotary(x, cos, sin, pairing="half"):
    need(x.ndim == 4 and cos.ndim == 3 and sin.ndim == 3, "rank")
    need(cos.shape == sin.shape, "tables")
    need(cos.shape[0] == x.shape[0] and cos.shape[1] == x.shape[2], "tokens")
    r = 2 * cos.shape[2]
    need(r <= x.shape[3], "width")
    need(pairing in ("half", "interleaved"), "pairing")
    wide = wide_of(x.dtype)
    c, s = cos.astype(wide)[:, None], sin.astype(wide)[:, None]
    first, second = (slice(0, r // 2), slice(r // 2, r)) if pairing == "half" else (slice(0, r, 2), slice(1, r, 2))
    a, b = x[..., first].astype(wide), x[..., second].astype(wide)
    out = np.array(x, copy=True)
    with np.errstate(all="ignore"):
        out[..., first] = (c * a - s * b).astype(x.dtype)
        out[..., second] = (s * a + c * b).astype(x.dtype)
    return {"output": out}

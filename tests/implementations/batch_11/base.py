"""The operations of the pages in NumPy, step by step. One step can be replaced at a time (class SDPA)."""
import math
from types import SimpleNamespace

import numpy as np

try:
    import ml_dtypes
    BF16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BF16 = None

dtypes = ("float64", "float32")
INF = float("inf")


class Refused(ValueError):
    pass


def refuse(condition, message):
    if condition:
        raise Refused(message)


def is_float(dtype):
    return dtype.kind == "f" or dtype == BF16


def wide(dtype):
    """The dtype that is computed in."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else np.dtype(dtype)


def isneginf(x):
    return x == -INF


def whole(x, name):
    x = np.asarray(x)
    refuse(x.dtype.kind not in "iu", name + " must be whole numbers")
    return x


# ---------------------------------------------------------------- scaled dot-product attention

def check_sdpa(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
               sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
               window=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    for x in (query, key, value):
        refuse(x.ndim != 4, "query, key and value have rank 4")
        refuse(not is_float(x.dtype), "query, key and value are floats")
    refuse((past_key is None) != (past_value is None), "past key and past value come together")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    refuse(E == 0, "queries without features")
    refuse(key.shape[3] != E, "width")
    refuse(key.shape[0] != B or value.shape[0] != B, "batch")
    refuse(value.shape[1] != Hkv, "heads of key and value")
    refuse(Hkv == 0 and Hq != 0 or Hkv and Hq % Hkv, "query heads are no multiple of key heads")
    refuse(value.shape[2] != Sk, "tokens of key and value")
    P = 0
    if past_key is not None:
        past_key, past_value = np.asarray(past_key), np.asarray(past_value)
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank of the past")
        refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "width of the past")
        refuse(past_key.shape[0] != B or past_value.shape[0] != B, "batch of the past")
        refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "heads of the past")
        P = past_key.shape[2]
        refuse(past_value.shape[2] != P, "tokens of the past")
        refuse(key_lengths is not None or query_lengths is not None, "past and lengths together")
    T = P + Sk
    if key_lengths is not None:
        key_lengths = whole(key_lengths, "key_lengths")
        refuse(key_lengths.shape != (B,), "key_lengths are for another batch")
        refuse(bool(((key_lengths < 0) | (key_lengths > Sk)).any()), "a key length is out of range")
        key_lengths = key_lengths.astype(np.int64)
    if query_lengths is not None:
        query_lengths = whole(query_lengths, "query_lengths")
        refuse(query_lengths.shape != (B,), "query_lengths are for another batch")
        refuse(bool(((query_lengths < 0) | (query_lengths > Sq)).any()), "a query length is out of range")
        query_lengths = query_lengths.astype(np.int64)
    if mask is not None:
        mask = np.asarray(mask)
        refuse(mask.dtype != np.bool_ and not is_float(mask.dtype), "a mask is Boolean or floats")
        refuse(not 2 <= mask.ndim <= 4, "rank of the mask")
        refuse(mask.shape[-1] != T, "last axis of the mask")
        for have, want in zip(mask.shape[::-1], (T, Sq, Hq, B)):
            refuse(have != want and have != 1, "the mask does not broadcast")
    for name, x in (("sinks", sinks), ("alibi_slopes", alibi_slopes)):
        refuse(x is not None and np.asarray(x).shape != (Hq,), name + ": one for each query head")
    refuse(causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
    refuse(softcap is not None and not softcap >= 0, "softcap below 0")
    if window is not None:
        refuse(len(window) != 2, "a window has two sides")
        window = tuple(None if side is None else int(side) for side in window)
    return SimpleNamespace(
        query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
        key_lengths=key_lengths, query_lengths=query_lengths,
        sinks=None if sinks is None else np.asarray(sinks),
        alibi_slopes=None if alibi_slopes is None else np.asarray(alibi_slopes), is_causal=bool(is_causal),
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
        B=B, Hq=Hq, Hkv=Hkv, Sq=Sq, Sk=Sk, E=E, Ev=value.shape[3], P=P, T=T)


def weigh(weights, value, allowed):
    """weights · value, in which excluded keys have no part, be they NaN."""
    if np.isfinite(value).all():
        return weights @ value
    parts = np.where(allowed[..., None], weights[..., None] * value[..., None, :, :], 0)
    return parts.sum(-2, dtype=weights.dtype)


class SDPA:
    """Each step is a method that reads and writes the fields of s."""

    def run(self, **arguments):
        with np.errstate(all="ignore"):
            s = self.check(**arguments)
            for step in (self.prepend, self.widen, self.place, self.share, self.score, self.scaled, self.cap, self.bias,
                         self.add_mask, self.exclude, self.softmax, self.weigh, self.round):
                step(s)
        return s.outputs

    def check(self, **arguments):
        return check_sdpa(**arguments)

    def prepend(self, s):
        if s.past_key is None:
            s.k, s.v = s.key.copy(), s.value.copy()
        else:
            s.k = np.concatenate([s.past_key, s.key], 2)
            s.v = np.concatenate([s.past_value, s.value], 2)
        s.present_key, s.present_value = s.k, s.v

    def widen(self, s):
        s.dt = wide(s.query.dtype)
        s.q, s.k, s.v = s.query.astype(s.dt), s.k.astype(s.dt), s.v.astype(s.dt)

    def place(self, s):
        s.L = np.full(s.B, s.T, np.int64) if s.key_lengths is None else s.key_lengths
        s.N = np.full(s.B, s.Sq, np.int64) if s.query_lengths is None else s.query_lengths
        first = np.full(s.B, s.P, np.int64) if s.causal_alignment == "top_left" else s.L - s.N
        s.p = first[:, None, None, None] + np.arange(s.Sq)[:, None]
        s.j = np.arange(s.T)

    def share(self, s):
        group = s.Hq // s.Hkv if s.Hkv else 1
        s.k, s.v = np.repeat(s.k, group, 1), np.repeat(s.v, group, 1)

    def score(self, s):
        s.scores = s.q @ np.swapaxes(s.k, 2, 3)

    def scaled(self, s):
        factor = 1 / math.sqrt(s.E) if s.scale is None else float(s.scale)
        s.scores = s.scores * s.dt.type(factor)

    def cap(self, s):
        s.logits = s.scores
        if s.softcap:
            c = s.dt.type(s.softcap)
            if np.isfinite(c):
                s.logits = c * np.tanh(s.scores / c)

    def distance(self, s):
        return np.abs(s.p - s.j).astype(s.dt)

    def bias(self, s):
        if s.alibi_slopes is not None:
            s.logits = s.logits - s.alibi_slopes.astype(s.dt)[:, None, None] * self.distance(s)

    def add_mask(self, s):
        if s.mask is not None and s.mask.dtype != np.bool_:
            s.logits = s.logits + s.mask.astype(s.dt)

    def allow(self, s):
        ok = np.broadcast_to(s.j < s.L[:, None, None, None], (s.B, s.Hq, s.Sq, s.T)).copy()
        if s.is_causal:
            ok &= s.j <= s.p
        if s.window is not None:
            left, right = s.window
            if left is not None:
                ok &= s.j >= s.p - left
            if right is not None:
                ok &= s.j <= s.p + right
        if s.mask is not None:
            ok &= s.mask if s.mask.dtype == np.bool_ else ~isneginf(s.mask)
        return ok

    def exclude(self, s):
        s.allowed = self.allow(s)
        s.logits = np.where(s.allowed, s.logits, s.dt.type(-INF))

    def softmax(self, s):
        top = s.logits.max(-1, keepdims=True, initial=-INF)
        if s.sinks is not None:
            sink = s.sinks.astype(s.dt)[:, None, None]
            top = np.maximum(top, sink)
        safe = np.where(isneginf(top) & ~s.allowed.any(-1, keepdims=True), 0, top)
        s.parts = np.exp(s.logits - safe)
        s.parts[~s.allowed] = 0
        s.total = s.parts.sum(-1, keepdims=True)
        if s.sinks is not None:
            s.total = s.total + np.exp(sink - safe)
        s.weights = np.where(s.total == 0, 0, s.parts / s.total).astype(s.dt)
        s.weights[~s.allowed] = 0
        s.logsumexp = (safe + np.log(s.total))[..., 0]

    def weigh(self, s):
        s.output = weigh(s.weights, s.v, s.allowed)

    def round(self, s):
        dt = s.query.dtype
        s.outputs = {"output": s.output.astype(dt), "weights": s.weights, "logsumexp": s.logsumexp.astype(s.dt),
                     "scores": s.scores, "logits": s.logits, "present_key": s.present_key.astype(dt),
                     "present_value": s.present_value.astype(dt)}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return SDPA().run(**locals())


# ---------------------------------------------------------------- the rest of attention

def softmax(x, axis=-1):
    x = np.asarray(x)
    dt = wide(x.dtype)
    with np.errstate(all="ignore"):
        wider = x.astype(dt)
        if x.size == 0:
            return x.copy()
        e = np.exp(wider - wider.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    refuse(query_length < 0 or key_length < 0, "a length below 0")
    offset = max(min(int(offset), key_length + 1), -query_length - 1)
    ok = np.arange(key_length) <= np.arange(query_length)[:, None] + offset
    return np.where(ok, 0.0, -INF) if additive else ok


def split_heads(x, num_heads):
    x = np.asarray(x)
    refuse(x.ndim != 3, "rank")
    refuse(num_heads < 1 or x.shape[2] % num_heads, "the number of heads does not divide the features")
    B, S, D = x.shape
    return x.reshape(B, S, num_heads, D // num_heads).transpose(0, 2, 1, 3).copy()


def combine_heads(x):
    x = np.asarray(x)
    refuse(x.ndim != 4, "rank")
    B, H, S, E = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * E).copy()


def context_vector(encoder_states, decoder_state, scale=None):
    states, state = np.asarray(encoder_states), np.asarray(decoder_state)
    refuse(states.ndim != 2 or state.ndim != 1, "rank")
    refuse(states.shape[1] != state.shape[0], "width")
    dt = wide(states.dtype)
    with np.errstate(all="ignore"):
        s, d = states.astype(dt), state.astype(dt)
        raw = s @ d
        scores = raw * dt.type(1 / math.sqrt(d.size) if scale is None else scale)
        weights = softmax(scores)
        return {"context": (weights @ s).astype(states.dtype), "weights": weights, "scores": scores, "raw_scores": raw}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    x, w_query, w_key, w_value = (np.asarray(a) for a in (x, w_query, w_key, w_value))
    refuse(any(a.ndim != 2 for a in (x, w_query, w_key, w_value)), "rank")
    refuse(any(a.shape[0] != x.shape[1] for a in (w_query, w_key, w_value)), "features of x and the matrices")
    refuse(w_query.shape[1] != w_key.shape[1], "columns of w_query and w_key")
    if w_output is not None:
        w_output = np.asarray(w_output)
        refuse(w_output.ndim != 2 or w_output.shape[0] != w_value.shape[1], "rows of w_output")
    dt = wide(x.dtype)
    with np.errstate(all="ignore"):
        xw = x.astype(dt)
        q, k, v = (xw @ w.astype(dt) for w in (w_query, w_key, w_value))
        scores = q @ k.T * dt.type(1 / math.sqrt(q.shape[1]) if scale is None else scale)
        weights = softmax(scores)
        out = weights @ v
        if w_output is not None:
            out = out @ w_output.astype(dt)
        return {"output": out.astype(x.dtype), "weights": weights, "scores": scores, "query": q, "key": k, "value": v}


def check_mha(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
              b_output=None, num_heads=1):
    refuse(any(np.ndim(a) != 3 for a in (query, key, value)), "rank")
    D = query.shape[2]
    refuse(num_heads < 1 or D % num_heads, "the number of heads does not divide the features")
    refuse(key.shape != value.shape or key.shape[2] != D or key.shape[0] != query.shape[0], "shapes")
    refuse(any(np.shape(w) != (D, D) for w in (w_query, w_key, w_value, w_output)), "weight matrices")
    refuse(any(b is not None and np.shape(b) != (D,) for b in (b_query, b_key, b_value, b_output)), "biases")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    check_mha(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, num_heads)
    dt = wide(query.dtype)

    def project(x, w, b):
        with np.errstate(all="ignore"):
            y = x.astype(dt) @ np.asarray(w).astype(dt)
            return y if b is None else y + np.asarray(b).astype(dt)

    heads = SDPA().run(query=split_heads(project(query, w_query, b_query), num_heads),
                       key=split_heads(project(key, w_key, b_key), num_heads),
                       value=split_heads(project(value, w_value, b_value), num_heads),
                       mask=mask, is_causal=is_causal, scale=scale)
    out = project(combine_heads(heads["output"]), w_output, b_output)
    return {"output": out.astype(query.dtype), "weights": heads["weights"]}


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(int(seed) % 2 ** 64).standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))


# ---------------------------------------------------------------- rotary

SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")
NEEDS = {"linear": ("factor",), "dynamic": ("factor", "original_length"), "none": (), "proportional": (),
         "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
         "longrope": ("factor", "original_length", "short_factors", "long_factors"), "yarn": ("factor", "original_length")}


def check_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                      low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                      proportion=1, **rest):
    refuse(width < 2 or width % 2, "width is odd or below 2")
    refuse(scaling not in SCALINGS, "no such scaling")
    given = locals()
    for name in NEEDS[scaling]:
        refuse(given[name] is None, scaling + " needs " + name)
    refuse(not theta > 0, "theta")
    if scaling != "none" and factor is not None:
        refuse(not factor > 0, "factor")
    if scaling == "yarn":
        refuse(not theta > 1, "theta under yarn")
    if scaling == "llama3":
        refuse(not high_frequency_factor > low_frequency_factor, "high_frequency_factor")
    if scaling == "dynamic":
        refuse(width < 4, "width under dynamic")
    if scaling == "proportional":
        refuse(not 0 <= proportion <= 1, "proportion")
    if scaling == "longrope":
        refuse(np.shape(short_factors) != (width // 2,) or np.shape(long_factors) != (width // 2,), "lists of factors")


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    if scaling is None:
        scaling = "none"
    check_frequencies(**locals())
    R, s, L0 = width, factor, original_length
    i = np.arange(R // 2)
    base = float(theta)
    n = L0 if sequence_length is None else sequence_length
    if scaling == "dynamic" and n > L0:
        base = base * (s * n / L0 - s + 1) ** (R / (R - 2))
    f = base ** (-2.0 * i / R)
    a = 1.0
    if scaling == "linear":
        f = f / s
    elif scaling == "llama3":
        g = (L0 * f / (2 * math.pi) - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        g = np.clip(g, 0, 1)
        f = g * f + (1 - g) * (f / s)
    elif scaling == "longrope":
        f = f / np.asarray(long_factors if n > L0 else short_factors, dtype=np.float64)
        a = math.sqrt(1 + math.log(s) / math.log(L0)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        f = f / (1 if s is None else s)
        f[math.floor(proportion * (R // 2)):] = 0
    elif scaling == "yarn":
        def d(b):
            return R * math.log(L0 / (2 * math.pi * b)) / (2 * math.log(theta))

        def m(c):
            return 0.1 * c * math.log(s) + 1
        low, high = d(beta_fast), d(beta_slow)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, R - 1)
        if low == high:
            high += 0.001
        r = np.clip((i - low) / (high - low), 0, 1)
        f = r * f / s + (1 - r) * f
        if attention_factor is not None:
            a = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            a = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            a = m(1)
    return {"inverse_frequencies": f, "attention_factor": np.float64(a)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    ids, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    refuse(ids.ndim != 2 or f.ndim != 1, "rank")
    refuse(ids.dtype.kind not in "iu", "positions are whole numbers")
    dt = wide(f.dtype)
    phase = ids.astype(dt)[..., None] * f.astype(dt)
    a = dt.type(attention_factor)
    return {"cos": (np.cos(phase) * a).astype(f.dtype), "sin": (np.sin(phase) * a).astype(f.dtype)}


def check_rotary(x, cos, sin, pairing="half"):
    refuse(x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3, "rank")
    refuse(cos.shape != sin.shape, "cos and sin differ")
    refuse(cos.shape[:2] != (x.shape[0], x.shape[2]), "tables for other tokens")
    refuse(2 * cos.shape[2] > x.shape[3], "more pairs than features")
    refuse(pairing not in ("half", "interleaved"), "pairing")


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    check_rotary(x, cos, sin, pairing)
    dt = wide(np.promote_types(x.dtype, cos.dtype) if x.dtype != BF16 and cos.dtype != BF16 else
              (cos if x.dtype == BF16 else x).dtype)
    half = cos.shape[2]
    if pairing == "half":
        one, two = slice(0, half), slice(half, 2 * half)
    else:
        one, two = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
    a, b = x[..., one].astype(dt), x[..., two].astype(dt)
    c, s = cos.astype(dt)[:, None], sin.astype(dt)[:, None]
    out = x.copy()
    with np.errstate(all="ignore"):
        out[..., one] = (c * a - s * b).astype(x.dtype)
        out[..., two] = (s * a + c * b).astype(x.dtype)
    return out

"""A right implementation of every operation in NumPy. Attention is a class whose methods are the steps of the page."""
import math
from types import SimpleNamespace

import numpy as np


def refuse_unless(condition, message):
    if not condition:
        raise ValueError(message)


def wide(dtype):
    return np.dtype(dtype) if np.dtype(dtype) in (np.dtype("float64"), np.dtype("float32")) else np.dtype("float32")


# ------------------------------------------------------------------------------------------------ softmax and masks
def softmax(x, axis=-1):
    x = np.asarray(x)
    y = x.astype(wide(x.dtype))
    y = y - y.max(axis=axis, keepdims=True)
    e = np.exp(y)
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    keep = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return np.where(keep, 0.0, -np.inf) if additive else keep


def split_heads(x, num_heads):
    refuse_unless(x.ndim == 3, "rank")
    refuse_unless(x.shape[2] % num_heads == 0, "features are no multiple of num_heads")
    b, s, d = x.shape
    return x.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3)


def combine_heads(x):
    refuse_unless(x.ndim == 4, "rank")
    b, h, s, e = x.shape
    return x.transpose(0, 2, 1, 3).reshape(b, s, h * e)


# ------------------------------------------------------------------------------------------------ attention
class Attention:
    """Each step is a method that reads and writes the namespace c."""

    steps = ("check", "prepend", "widen", "place", "share", "score", "scale", "cap", "alibi", "add_mask", "exclude",
             "normalise", "weigh", "round")

    def __call__(self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                 scale=None, softcap=None, window=None):
        c = SimpleNamespace(**{k: v for k, v in locals().items() if k != "self"})
        with np.errstate(all="ignore"):
            for step in self.steps:
                getattr(self, step)(c)
        return self.results(c)

    def results(self, c):
        return {"output": c.output, "weights": c.weights, "logsumexp": c.logsumexp, "scores": c.scores,
                "logits": c.logits, "present_key": c.present_key, "present_value": c.present_value}

    # -- check
    def check(self, c):
        self.check_rank(c)
        self.check_shapes(c)
        c.past = 0 if c.past_key is None else c.past_key.shape[2]
        self.check_past(c)
        self.check_mask(c)
        self.check_rest(c)

    def check_rank(self, c):
        refuse_unless(c.query.ndim == 4 and c.key.ndim == 4 and c.value.ndim == 4, "rank")

    def check_shapes(self, c):
        q, k, v = c.query.shape, c.key.shape, c.value.shape
        refuse_unless(q[0] == k[0] == v[0], "batch")
        refuse_unless(q[3] == k[3] and q[3] > 0, "width")
        refuse_unless(k[1] == v[1] and k[1] > 0 and q[1] % k[1] == 0, "heads")
        refuse_unless(k[2] == v[2], "length")

    def check_past(self, c):
        refuse_unless((c.past_key is None) == (c.past_value is None), "half a past")
        if c.past_key is not None:
            refuse_unless(c.key_lengths is None and c.query_lengths is None, "past and lengths")
            k, v = c.key.shape, c.value.shape
            refuse_unless(c.past_key.shape == (k[0], k[1], c.past, k[3]), "past key")
            refuse_unless(c.past_value.shape == (v[0], v[1], c.past, v[3]), "past value")

    def check_mask(self, c):
        if c.mask is not None:
            full = (c.query.shape[0], c.query.shape[1], c.query.shape[2], c.past + c.key.shape[2])
            m = c.mask.shape
            refuse_unless(2 <= len(m) <= 4, "mask rank")
            refuse_unless(m[-1] == full[-1], "mask keys")
            refuse_unless(all(a in (1, b) for a, b in zip(m[::-1], full[::-1])), "mask shape")
            refuse_unless(c.mask.dtype == bool or c.mask.dtype.kind not in "iu", "mask dtype")

    def check_rest(self, c):
        refuse_unless(c.causal_alignment in ("top_left", "bottom_right"), "alignment")
        refuse_unless(c.softcap is None or c.softcap >= 0, "softcap")
        for lengths, most in ((c.key_lengths, c.key.shape[2]), (c.query_lengths, c.query.shape[2])):
            refuse_unless(lengths is None or lengths.shape == c.query.shape[:1], "lengths")
            refuse_unless(lengths is None or all(0 <= length <= most for length in lengths), "lengths")

    # -- the steps
    def prepend(self, c):
        c.present_key, c.present_value = c.key, c.value
        if c.past_key is not None:
            c.present_key = np.concatenate([c.past_key, c.key], axis=2)
            c.present_value = np.concatenate([c.past_value, c.value], axis=2)

    def widen(self, c):
        c.dtype = wide(c.query.dtype)
        c.q = c.query.astype(c.dtype)
        c.k = c.present_key.astype(c.dtype)
        c.v = c.present_value.astype(c.dtype)
        c.B, c.Hq, c.Sq, c.E = c.q.shape
        c.Hkv, c.T = c.k.shape[1:3]

    def place(self, c):
        c.L = np.full(c.B, c.T) if c.key_lengths is None else np.asarray(c.key_lengths).astype(np.int64)
        c.N = np.full(c.B, c.Sq) if c.query_lengths is None else np.asarray(c.query_lengths).astype(np.int64)
        c.first = np.full(c.B, c.past) if c.causal_alignment == "top_left" else c.L - c.N
        c.p = c.first[:, None] + np.arange(c.Sq)                              # (B, Sq)
        c.j = np.arange(c.T)
        c.before = c.p[:, :, None] - c.j                                      # (B, Sq, T): p - j

    def share(self, c):
        rep = c.Hq // c.Hkv
        c.k, c.v = np.repeat(c.k, rep, axis=1), np.repeat(c.v, rep, axis=1)

    def score(self, c):
        c.dots = np.matmul(c.q, np.swapaxes(c.k, 2, 3))

    def scale(self, c):
        c.scores = c.dots * c.dtype.type(1 / math.sqrt(c.E) if c.scale is None else c.scale)
        c.logits = c.scores

    def cap(self, c):
        if c.softcap:
            c.logits = (c.softcap * np.tanh(c.logits / c.softcap)).astype(c.dtype)

    def alibi(self, c):
        if c.alibi_slopes is not None:
            slopes = c.alibi_slopes.astype(c.dtype)[None, :, None, None]
            c.logits = c.logits - slopes * np.abs(c.before)[:, None].astype(c.dtype)

    def add_mask(self, c):
        if c.mask is not None and c.mask.dtype != bool:
            c.logits = c.logits + c.mask.astype(c.dtype)

    def keep_lengths(self, c):
        return (c.j < c.L[:, None, None])[:, None]

    def keep_causal(self, c):
        return (c.before >= 0)[:, None] if c.is_causal else np.True_

    def keep_window(self, c):
        keep = np.True_
        if c.window is not None:
            left, right = c.window
            if left is not None:
                keep = keep & (c.before <= left)[:, None]
            if right is not None:
                keep = keep & (c.before >= -right)[:, None]
        return keep

    def keep_mask(self, c):
        if c.mask is None:
            return np.True_
        return c.mask if c.mask.dtype == bool else ~np.isneginf(c.mask.astype(c.dtype))

    def exclude(self, c):
        keep = self.keep_lengths(c) & self.keep_causal(c) & self.keep_window(c) & self.keep_mask(c)
        c.keep = np.broadcast_to(keep, (c.B, c.Hq, c.Sq, c.T))
        c.logits = np.where(c.keep, c.logits, c.dtype.type(-np.inf))

    def normalise(self, c):
        m = c.logits.max(axis=3, keepdims=True, initial=-np.inf)
        if c.sinks is not None:
            sink = c.sinks.astype(c.dtype)[None, :, None, None]
            m = np.maximum(m, sink)
        safe = np.where(np.isneginf(m), c.dtype.type(0), m)
        c.e = np.where(c.keep, np.exp(c.logits - safe), c.dtype.type(0))
        c.total = c.e.sum(axis=3, keepdims=True)
        if c.sinks is not None:
            c.total = c.total + np.exp(sink - safe)
        c.weights = np.where(c.keep, c.e / np.where(c.total == 0, c.dtype.type(1), c.total), c.dtype.type(0))
        c.logsumexp = (np.log(c.total) + safe)[..., 0]

    def weigh(self, c):
        if np.isfinite(c.v).all():
            c.output = np.matmul(c.weights, c.v)
        else:
            parts = np.where(c.keep[..., None], c.weights[..., None] * c.v[:, :, None], c.dtype.type(0))
            c.output = parts.sum(axis=3)

    def round(self, c):
        for name in ("output", "weights", "logsumexp", "scores", "logits"):
            setattr(c, name, getattr(c, name).astype(c.query.dtype))


_attention = Attention()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return _attention(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                      is_causal, causal_alignment, scale, softcap, window)


# ------------------------------------------------------------------------------------------------ the other attentions
def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    refuse_unless(x.ndim == 2, "rank")
    refuse_unless(x.shape[1] == w_query.shape[0] == w_key.shape[0] == w_value.shape[0], "width")
    refuse_unless(w_query.shape[1] == w_key.shape[1], "width")
    refuse_unless(w_output is None or w_output.shape[0] == w_value.shape[1], "width")
    dtype = wide(x.dtype)
    x_, q_, k_, v_ = (a.astype(dtype) for a in (x, w_query, w_key, w_value))
    query, key, value = x_ @ q_, x_ @ k_, x_ @ v_
    scores = (query @ key.T) * dtype.type(1 / math.sqrt(w_query.shape[1]) if scale is None else scale)
    weights = softmax(scores)
    output = weights @ value
    if w_output is not None:
        output = output @ w_output.astype(dtype)
    results = {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
    return {name: array.astype(x.dtype) for name, array in results.items()}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=None, is_causal=False, scale=None, attend=None):
    refuse_unless(query.ndim == key.ndim == value.ndim == 3, "rank")
    refuse_unless(query.shape[2] % num_heads == 0, "features are no multiple of num_heads")
    dtype = wide(query.dtype)

    def project(x, w, b):
        y = x.astype(dtype) @ w.astype(dtype)
        return y if b is None else y + b.astype(dtype)

    q, k, v = project(query, w_query, b_query), project(key, w_key, b_key), project(value, w_value, b_value)
    inner = (attend or scaled_dot_product_attention)(
        split_heads(q, num_heads), split_heads(k, num_heads), split_heads(v, num_heads), mask=mask,
        is_causal=is_causal, scale=scale)
    output = project(combine_heads(inner["output"]), w_output, b_output)
    return {"output": output.astype(query.dtype), "weights": inner["weights"].astype(query.dtype)}


def context_vector(encoder_states, decoder_state, scale=None):
    refuse_unless(encoder_states.ndim == 2 and decoder_state.ndim == 1, "rank")
    refuse_unless(encoder_states.shape[1] == decoder_state.shape[0], "width")
    dtype = wide(encoder_states.dtype)
    states, state = encoder_states.astype(dtype), decoder_state.astype(dtype)
    raw = states @ state
    scores = raw * dtype.type(1 / math.sqrt(state.shape[0]) if scale is None else scale)
    weights = softmax(scores)
    results = {"context": weights @ states, "weights": weights, "scores": scores, "raw_scores": raw}
    return {name: array.astype(encoder_states.dtype) for name, array in results.items()}


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))


# ------------------------------------------------------------------------------------------------ rotary
SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")
NEEDED = {"none": (), "linear": ("factor",), "dynamic": ("factor", "original_length"),
          "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
          "longrope": ("factor", "original_length", "short_factors", "long_factors"),
          "proportional": (), "yarn": ("factor", "original_length")}


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    given = dict(locals())
    scaling = "none" if scaling is None else scaling
    refuse_unless(width % 2 == 0 and width >= 2, "width")
    refuse_unless(scaling in SCALINGS, "scaling")
    for name in NEEDED[scaling]:
        refuse_unless(given[name] is not None, f"{scaling} needs {name}")
    refuse_unless(theta > 0, "theta")
    if factor is not None and scaling != "none":
        refuse_unless(factor > 0, "factor")
    half = width // 2
    i = np.arange(half, dtype=np.float64)
    base, result = float(theta), 1.0
    if scaling == "dynamic":
        refuse_unless(width >= 4, "width")
        n = max(sequence_length or 0, original_length)
        base = theta * (factor * n / original_length - factor + 1) ** (width / (width - 2))
    f = base ** (-2 * i / width)
    if scaling == "linear":
        f = f / factor
    elif scaling == "llama3":
        refuse_unless(high_frequency_factor > low_frequency_factor, "factors")
        turns = original_length * f / (2 * math.pi)
        g = np.clip((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0, 1)
        f = g * f + (1 - g) * f / factor
    elif scaling == "longrope":
        refuse_unless(len(short_factors) == half and len(long_factors) == half, "lists")
        beyond = sequence_length is not None and sequence_length > original_length
        f = f / np.asarray(long_factors if beyond else short_factors, dtype=np.float64)
        result = math.sqrt(1 + math.log(factor) / math.log(original_length))
    elif scaling == "proportional":
        refuse_unless(0 <= proportion <= 1, "proportion")
        f = np.where(i < math.floor(proportion * half), f / (1 if factor is None else factor), 0.0)
    elif scaling == "yarn":
        refuse_unless(theta > 1, "theta")
        low, high = (width * math.log(original_length / (2 * math.pi * b)) / (2 * math.log(theta))
                     for b in (beta_fast, beta_slow))
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        if low == high:
            high += 0.001
        r = np.clip((i - low) / (high - low), 0, 1)
        f = r * f / factor + (1 - r) * f

        def m(a):
            return 0.1 * a * math.log(factor) + 1

        if magnitude_scaling and magnitude_scaling_all_dimensions:
            result = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            result = m(1)
    if scaling in ("longrope", "yarn") and attention_factor is not None:
        result = attention_factor
    return {"inverse_frequencies": f, "attention_factor": np.float64(result)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse_unless(position_ids.ndim == 2 and inverse_frequencies.ndim == 1, "rank")
    dtype = wide(inverse_frequencies.dtype)
    phases = position_ids.astype(dtype)[:, :, None] * inverse_frequencies.astype(dtype)
    factor = dtype.type(attention_factor)
    return {"cos": (np.cos(phases) * factor).astype(inverse_frequencies.dtype),
            "sin": (np.sin(phases) * factor).astype(inverse_frequencies.dtype)}


def apply_rotary(x, cos, sin, pairing="half"):
    refuse_unless(x.ndim == 4 and cos.ndim == 3 and sin.ndim == 3, "rank")
    refuse_unless(cos.shape == sin.shape, "tables")
    refuse_unless(cos.shape[:2] == (x.shape[0], x.shape[2]), "tokens")
    refuse_unless(2 * cos.shape[2] <= x.shape[3], "width")
    refuse_unless(pairing in ("half", "interleaved"), "pairing")
    dtype = np.result_type(wide(x.dtype), wide(cos.dtype))
    half = cos.shape[2]
    one, two = ((slice(0, half), slice(half, 2 * half)) if pairing == "half" else
                (slice(0, 2 * half, 2), slice(1, 2 * half, 2)))
    c, s = cos.astype(dtype)[:, None], sin.astype(dtype)[:, None]
    a, b = x[..., one].astype(dtype), x[..., two].astype(dtype)
    output = np.array(x)
    with np.errstate(all="ignore"):
        output[..., one] = (c * a - s * b).astype(x.dtype)
        output[..., two] = (s * a + c * b).astype(x.dtype)
    return output

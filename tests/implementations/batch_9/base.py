"""A right implementation of the operations, one replaceable method for each step."""
import math

import numpy as np


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def wide(dtype):
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


class Attention:
    """scaled_dot_product_attention; a subclass replaces a step."""

    def __call__(self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                 scale=None, softcap=None, window=None):
        with np.errstate(all="ignore"):
            self.check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
            self.is_causal, self.alignment = is_causal, causal_alignment
            self.window = tuple(window) if window is not None else (None, None)
            self.dtype = query.dtype
            self.work = wide(query.dtype)
            self.B, self.Hq, self.Sq, self.E = query.shape
            self.Hkv, self.Ev = key.shape[1], value.shape[-1]
            self.P = 0 if past_key is None else past_key.shape[2]
            self.new_keys = key.shape[2]
            present_key, present_value = self.prepend(key, value, past_key, past_value)
            self.K = present_key.shape[2]
            self.key_lengths, self.query_lengths = key_lengths, query_lengths
            q, k, v = (self.widen(x) for x in (query, present_key, present_value))
            p = self.place()
            j = np.arange(self.K)
            k, v = self.share(k), self.share(v)
            raw = self.score(q, k)
            scores = self.scaled(raw, scale)
            logits = self.cap(scores, softcap)
            logits = self.alibi(logits, alibi_slopes, p, j)
            logits = self.add_mask(logits, mask)
            allowed = self.allowed(mask, p, j)
            logits = self.exclude(logits, allowed)
            weights, logsumexp = self.softmax(logits, sinks, allowed)
            output = self.weigh(weights, v, allowed)
            outputs = {"output": output, "weights": weights, "logsumexp": logsumexp, "scores": scores,
                       "logits": logits, "present_key": present_key, "present_value": present_value}
            return {name: self.round(x) for name, x in outputs.items()}

    def check(self, query, key, value, mask, past_key, past_value, key_lengths, query_lengths):
        refuse(any(x.ndim != 4 for x in (query, key, value)), "rank")
        refuse(query.shape[-1] != key.shape[-1], "width")
        refuse(len({x.shape[0] for x in (query, key, value)}) != 1, "batch")
        refuse(key.shape[1] != value.shape[1], "key and value heads")
        refuse(key.shape[1] == 0 or query.shape[1] % key.shape[1] != 0, "grouped")
        refuse(key.shape[2] != value.shape[2], "length")
        for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, query.shape[2])):
            refuse(lengths is not None and lengths.shape != query.shape[:1], "lengths")
            refuse(lengths is not None and any(not 0 <= length <= most for length in lengths), "lengths")
        past = 0
        if past_key is not None:
            refuse(past_key.shape[:2] != key.shape[:2] or past_key.shape[3] != key.shape[3], "past")
            refuse(past_value.shape != (*past_key.shape[:3], value.shape[3]), "past")
            past = past_key.shape[2]
        if mask is not None:
            target = (query.shape[0], query.shape[1], query.shape[2], past + key.shape[2])
            refuse(mask.ndim < 2 or mask.ndim > 4, "mask rank")
            refuse(mask.shape[-1] != target[-1], "mask keys")
            refuse(any(m not in (1, t) for m, t in zip(mask.shape[::-1], target[::-1])), "mask shape")

    def prepend(self, key, value, past_key, past_value):
        if past_key is None:
            return key, value
        return np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)

    def widen(self, x):
        return x.astype(self.work)

    def lengths(self):
        L = np.full(self.B, self.K) if self.key_lengths is None else np.asarray(self.key_lengths).astype(np.int64)
        N = np.full(self.B, self.Sq) if self.query_lengths is None else np.asarray(self.query_lengths).astype(np.int64)
        return L, N

    def place(self):
        i = np.arange(self.Sq)[None, :]
        L, N = self.lengths()
        if self.alignment == "top_left":
            return np.broadcast_to(i + self.P, (self.B, self.Sq))
        return i + (L - N)[:, None]

    def share(self, x):
        return np.repeat(x, self.Hq // self.Hkv, axis=1)

    def score(self, q, k):
        return q @ np.swapaxes(k, -1, -2)

    def scaled(self, raw, scale):
        return raw * self.work(1 / math.sqrt(self.E) if scale is None else scale)

    def cap(self, scores, softcap):
        if softcap is None or softcap == 0:
            return scores
        c = self.work(softcap)
        return c * np.tanh(scores / c)

    def alibi(self, logits, slopes, p, j):
        if slopes is None:
            return logits
        distance = np.abs(p[:, :, None] - j).astype(self.work)
        return logits - slopes.astype(self.work)[:, None, None] * distance[:, None]

    def add_mask(self, logits, mask):
        if mask is None or mask.dtype == bool:
            return logits
        return logits + mask.astype(self.work)

    def allowed(self, mask, p, j):
        p = p[:, :, None]
        L, _ = self.lengths()
        allow = np.broadcast_to(j < L[:, None, None], (self.B, self.Sq, self.K))
        if self.is_causal:
            allow = allow & (j <= p)
        left, right = self.window
        if left is not None:
            allow = allow & (j >= p - left)
        if right is not None:
            allow = allow & (j <= p + right)
        allow = np.broadcast_to(allow[:, None], (self.B, self.Hq, self.Sq, self.K))
        if mask is not None:
            allow = allow & (mask if mask.dtype == bool else mask != -np.inf)
        return allow

    def exclude(self, logits, allowed):
        return np.where(allowed, logits, self.work(-np.inf))

    def softmax(self, logits, sinks, allowed):
        top = np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = sinks.astype(self.work)[None, :, None, None]
            top = np.maximum(top, sink)
        top = np.where(top == -np.inf, self.work(0), top)
        exponentials = np.where(allowed, np.exp(logits - top), self.work(0))
        total = exponentials.sum(axis=-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sink - top)
        weights = exponentials / np.where(total == 0, self.work(1), total)
        return weights, (top + np.log(total))[..., 0]

    def weigh(self, weights, v, allowed):
        finite = np.isfinite(v)
        output = weights @ np.where(finite, v, self.work(0))
        for b, h, j in np.argwhere(~finite.all(-1)):
            part = weights[b, h, :, j, None] * np.where(finite[b, h, j], self.work(0), v[b, h, j])[None]
            part = np.where(finite[b, h, j][None], self.work(0), part)
            output[b, h] += np.where(allowed[b, h, :, j, None], part, self.work(0))
        return output

    def round(self, x):
        return x.astype(self.dtype)


def scaled_dot_product_attention(*args, **kwargs):
    return Attention()(*args, **kwargs)


def softmax(x, axis=-1):
    w = x.astype(wide(x.dtype))
    e = np.exp(w - w.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allow = np.arange(key_length)[None] <= np.arange(query_length)[:, None] + offset
    return np.where(allow, 0.0, -np.inf) if additive else allow


def split_heads(x, num_heads):
    B, S, D = x.shape
    refuse(D % num_heads != 0, "divisible")
    return x.reshape(B, S, num_heads, D // num_heads).transpose(0, 2, 1, 3)


def combine_heads(x):
    B, H, S, E = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * E)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    W = wide(x.dtype)
    t = x.astype(W)
    q, k, v = (t @ w.astype(W) for w in (w_query, w_key, w_value))
    scores = q @ k.T * W(1 / math.sqrt(w_query.shape[1]) if scale is None else scale)
    weights = softmax(scores)
    output = weights @ v
    if w_output is not None:
        output = output @ w_output.astype(W)
    outputs = {"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}
    return {name: y.astype(x.dtype) for name, y in outputs.items()}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    refuse(any(x.ndim != 3 for x in (query, key, value)), "rank")
    refuse(query.shape[-1] % num_heads != 0, "divisible")
    W = wide(query.dtype)

    def project(x, w, b):
        y = x.astype(W) @ w.astype(W)
        return y if b is None else y + b.astype(W)

    q, k, v = project(query, w_query, b_query), project(key, w_key, b_key), project(value, w_value, b_value)
    r = scaled_dot_product_attention(split_heads(q, num_heads), split_heads(k, num_heads), split_heads(v, num_heads),
                                     mask=mask, is_causal=is_causal, scale=scale)
    output = project(combine_heads(r["output"]), w_output, b_output)
    return {"output": output.astype(query.dtype), "weights": r["weights"].astype(query.dtype)}


def context_vector(encoder_states, decoder_state, scale=None):
    refuse(encoder_states.shape[-1] != decoder_state.shape[-1], "width")
    W = wide(encoder_states.dtype)
    h, s = encoder_states.astype(W), decoder_state.astype(W)
    raw = h @ s
    scores = raw * W(1 / math.sqrt(len(s)) if scale is None else scale)
    weights = softmax(scores)
    outputs = {"context": weights @ h, "weights": weights, "scores": scores, "raw_scores": raw}
    return {name: y.astype(encoder_states.dtype) for name, y in outputs.items()}


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))


class Frequencies:
    """rotary_frequencies; a subclass replaces a step."""

    NEEDS = {"none": (), "linear": ("factor",), "dynamic": ("factor", "original_length"), "proportional": (),
             "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
             "longrope": ("factor", "original_length", "short_factors", "long_factors"),
             "yarn": ("factor", "original_length")}

    def __call__(self, width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                 low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                 proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                 magnitude_scaling_all_dimensions=None, attention_factor=None):
        scaling = "none" if scaling is None else scaling
        self.a = a = dict(locals())
        self.check(a)
        self.R, self.theta, self.scaling = width, float(theta), scaling
        self.s, self.L0 = factor, original_length
        self.n = original_length if sequence_length is None else sequence_length
        f = self.powers(self.stretch())
        return {"inverse_frequencies": self.scale(f), "attention_factor": np.float64(self.attention())}

    def check(self, a):
        refuse(a["width"] % 2 or a["width"] < 2, "width")
        refuse(a["scaling"] not in self.NEEDS, "scaling")
        refuse(any(a[n] is None for n in self.NEEDS[a["scaling"]]), "parameters")
        if a["scaling"] == "longrope":
            refuse(len(a["short_factors"]) != a["width"] // 2 or len(a["long_factors"]) != a["width"] // 2, "lists")
        refuse(a["theta"] <= 0 or (a["scaling"] == "yarn" and a["theta"] <= 1), "theta")
        refuse(a["scaling"] != "none" and a["factor"] is not None and a["factor"] <= 0, "factor")
        refuse(a["scaling"] == "llama3" and a["high_frequency_factor"] is not None
               and a["high_frequency_factor"] <= a["low_frequency_factor"], "llama3")
        refuse(a["scaling"] == "dynamic" and a["width"] < 4, "dynamic")
        refuse(a["scaling"] == "proportional" and not 0 <= a["proportion"] <= 1, "proportion")

    def stretch(self):
        if self.scaling != "dynamic":
            return self.theta
        n = max(self.n, self.L0)
        return self.theta * (self.s * n / self.L0 - self.s + 1) ** (self.R / (self.R - 2))

    def powers(self, base):
        return np.float64(base) ** (-2 * np.arange(self.R // 2) / self.R)

    def scale(self, f):
        return getattr(self, self.scaling)(f)

    def none(self, f):
        return f

    dynamic = none

    def linear(self, f):
        return f / self.s

    def llama3(self, f):
        low, high = self.a["low_frequency_factor"], self.a["high_frequency_factor"]
        g = np.clip((self.L0 * f / (2 * math.pi) - low) / (high - low), 0, 1)
        return g * f + (1 - g) * f / self.s

    def longrope(self, f):
        return f / np.asarray(self.a["long_factors"] if self.n > self.L0 else self.a["short_factors"], np.float64)

    def proportional(self, f):
        kept = math.floor(self.a["proportion"] * self.R / 2)
        return np.where(np.arange(self.R // 2) < kept, f / (1 if self.s is None else self.s), 0.0)

    def turn(self, b):
        return self.R * math.log(self.L0 / (2 * math.pi * b)) / (2 * math.log(self.theta))

    def range(self):
        low, high = self.turn(self.a["beta_fast"]), self.turn(self.a["beta_slow"])
        if self.a["truncate"]:
            low, high = math.floor(low), math.ceil(high)
        return max(low, 0), min(high, self.R - 1)

    def yarn(self, f):
        low, high = self.range()
        if low == high:
            high += 0.001
        r = np.clip((np.arange(self.R // 2) - low) / (high - low), 0, 1)
        return r * f / self.s + (1 - r) * f

    def attention(self):
        if self.scaling not in ("longrope", "yarn"):
            return 1.0
        if self.a["attention_factor"] is not None:
            return self.a["attention_factor"]
        if self.scaling == "longrope":
            return math.sqrt(1 + math.log(self.s) / math.log(self.L0))
        m = lambda c: 0.1 * c * math.log(self.s) + 1
        one, other = self.a["magnitude_scaling"], self.a["magnitude_scaling_all_dimensions"]
        return m(one) / m(other) if one and other else m(1)


def rotary_frequencies(*args, **kwargs):
    return Frequencies()(*args, **kwargs)


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse(position_ids.ndim != 2 or inverse_frequencies.ndim != 1, "rank")
    W = wide(inverse_frequencies.dtype)
    phase = position_ids[..., None].astype(W) * inverse_frequencies.astype(W)
    a = W(attention_factor)
    return {"cos": (a * np.cos(phase)).astype(inverse_frequencies.dtype),
            "sin": (a * np.sin(phase)).astype(inverse_frequencies.dtype)}


def check_rotary(x, cos, sin, pairing):
    refuse(x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3, "rank")
    refuse(cos.shape != sin.shape, "tables")
    refuse(cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2], "tokens")
    refuse(2 * cos.shape[2] > x.shape[3], "width")
    refuse(pairing not in ("half", "interleaved"), "pairing")


def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    with np.errstate(all="ignore"):
        W = wide(np.result_type(x.dtype, cos.dtype)) if cos.dtype == np.float64 else wide(x.dtype)
        c, s = cos[:, None].astype(W), sin[:, None].astype(W)
        half = cos.shape[2]
        a = np.arange(half) if pairing == "half" else 2 * np.arange(half)
        b = a + half if pairing == "half" else a + 1
        first, second = x[..., a].astype(W), x[..., b].astype(W)
        output = np.array(x)
        output[..., a] = (c * first - s * second).astype(x.dtype)
        output[..., b] = (s * first + c * second).astype(x.dtype)
        return output

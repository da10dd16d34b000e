"""Attention by the pages, in NumPy, one replaceable method for each step."""
import math
import numpy as np


class Refused(ValueError):
    pass


def refuse(condition, message):
    if condition:
        raise Refused(message)


def wide(dtype):
    dtype = np.dtype(dtype)
    return dtype if dtype in (np.dtype("float64"), np.dtype("float32")) else np.dtype("float32")


def check_sdpa(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
               sinks=None, alibi_slopes=None, causal_alignment="top_left", softcap=None, window=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    refuse(query.ndim != 4 or key.ndim != 4 or value.ndim != 4, "rank")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    refuse(key.shape[3] != E, "width")
    refuse(E == 0, "queries without features")
    refuse(key.shape[0] != B or value.shape[0] != B, "batch")
    refuse(value.shape[1] != Hkv, "heads of key and value")
    refuse(Hq % Hkv != 0 if Hkv else Hq != 0, "grouped")
    refuse(value.shape[2] != Sk, "tokens of key and value")
    refuse((past_key is None) != (past_value is None), "half a past")
    P = 0
    if past_key is not None:
        past_key, past_value = np.asarray(past_key), np.asarray(past_value)
        refuse(past_key.ndim != 4 or past_value.ndim != 4, "rank of the past")
        refuse(past_key.shape[0] != B or past_value.shape[0] != B, "batch of the past")
        refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "heads of the past")
        refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "width of the past")
        refuse(past_key.shape[2] != past_value.shape[2], "tokens of the past")
        P = past_key.shape[2]
    refuse(P and (key_lengths is not None or query_lengths is not None), "past and lengths")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            refuse(lengths.shape != (B,), "lengths for another batch")
            refuse(lengths.size and lengths.dtype.kind not in "iu", "lengths that are no whole numbers")
            refuse(bool((lengths < 0).any() or (lengths > most).any()), "length out of range")
    if mask is not None:
        mask = np.asarray(mask)
        refuse(mask.dtype.kind in "iuc", "mask of integers")
        refuse(not 2 <= mask.ndim <= 4, "rank of the mask")
        target = (B, Hq, Sq, P + Sk)
        refuse(mask.shape[-1] != P + Sk, "last axis of the mask")
        refuse(any(n not in (1, t) for n, t in zip(mask.shape[::-1], target[::-1])), "shape of the mask")
    for per_head in (sinks, alibi_slopes):
        refuse(per_head is not None and np.shape(per_head) != (Hq,), "one number for each query head")
    refuse(causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
    refuse(softcap is not None and not softcap >= 0, "softcap")
    refuse(window is not None and len(window) != 2, "window")


class Attention:
    """Steps of scaled dot-product attention; override one to replace it."""
    outputs = ("output", "weights", "logsumexp", "scores", "logits", "present_key", "present_value")

    def check(self, a):
        check_sdpa(a["query"], a["key"], a["value"], a["mask"], a["past_key"], a["past_value"], a["key_lengths"],
                   a["query_lengths"], a["sinks"], a["alibi_slopes"], a["causal_alignment"], a["softcap"], a["window"])

    def prepend(self, past, new):
        return new.copy() if past is None else np.concatenate([past, new], axis=2)

    def widen(self, x):
        return x.astype(wide(x.dtype))

    def counts(self, a, s):
        """L and N of every batch entry."""
        L = np.full(s.B, s.T) if a["key_lengths"] is None else np.asarray(a["key_lengths"]).astype(np.int64)
        N = np.full(s.B, s.Sq) if a["query_lengths"] is None else np.asarray(a["query_lengths"]).astype(np.int64)
        return L, N

    def place(self, a, s):
        """Position of the first query of every batch entry."""
        return np.full(s.B, s.P) if a["causal_alignment"] == "top_left" else s.L - s.N

    def share(self, x, s):
        return np.repeat(x, s.Hq // s.Hkv, axis=1) if s.Hkv else x

    def dots(self, q, k, s):
        return q @ k.swapaxes(-1, -2)

    def factor(self, a, s):
        return 1 / math.sqrt(s.E) if a["scale"] is None else float(a["scale"])

    def scaled(self, a, dots, s):
        return dots * self.factor(a, s)

    def cap(self, a, x, s):
        c = a["softcap"]
        return float(c) * np.tanh(x / float(c)) if c else x

    def distance(self, a, s):
        return np.abs(s.p[:, None, :, None] - s.j)

    def bias(self, a, x, s):
        if a["alibi_slopes"] is None:
            return x
        slopes = np.asarray(a["alibi_slopes"]).astype(x.dtype)
        return x - slopes[None, :, None, None] * self.distance(a, s).astype(x.dtype)

    def add_mask(self, a, x, s):
        if a["mask"] is None or a["mask"].dtype == bool:
            return x
        return x + a["mask"].astype(x.dtype)

    def by_mask(self, a, s):
        if a["mask"] is None:
            return np.True_
        return a["mask"] if a["mask"].dtype == bool else a["mask"] != -np.inf

    def by_causality(self, a, s):
        return s.j <= s.p[:, None, :, None] if a["is_causal"] else np.True_

    def by_window(self, a, s):
        left, right = a["window"] if a["window"] is not None else (None, None)
        seen = np.True_
        if left is not None:
            seen = seen & (s.j >= s.p[:, None, :, None] - left)
        if right is not None:
            seen = seen & (s.j <= s.p[:, None, :, None] + right)
        return seen

    def by_length(self, a, s):
        return s.j < s.L[:, None, None, None]

    def allowed(self, a, s):
        seen = self.by_mask(a, s) & self.by_causality(a, s) & self.by_window(a, s) & self.by_length(a, s)
        return np.broadcast_to(seen, (s.B, s.Hq, s.Sq, s.T))

    def sink(self, a, dtype, s):
        if a["sinks"] is None:
            return np.full((s.B, s.Hq, s.Sq), -np.inf, dtype)
        return np.broadcast_to(np.asarray(a["sinks"]).astype(dtype)[None, :, None], (s.B, s.Hq, s.Sq))

    def softmax(self, logits, sink, allowed, s):
        most = np.maximum(logits.max(-1, initial=-np.inf), sink)
        most = np.where(np.isneginf(most), np.zeros((), logits.dtype), most)
        e = np.where(allowed, np.exp(logits - most[..., None]), np.zeros((), logits.dtype))
        total = e.sum(-1) + np.exp(sink - most)
        weights = e / np.where(total == 0, np.ones((), logits.dtype), total)[..., None]
        weights = np.where(allowed, weights, np.zeros((), logits.dtype))
        return weights, np.log(total) + most

    def weigh(self, weights, v, allowed, s):
        if np.isfinite(v).all():
            return weights @ v
        terms = weights[..., None] * v[:, :, None]
        return np.where(allowed[..., None], terms, np.zeros((), v.dtype)).sum(-2)

    def finish(self, a, s, results):
        return results

    def run(self, **a):
        for name in ("query", "key", "value", "mask", "past_key", "past_value", "key_lengths", "query_lengths", "sinks",
                     "alibi_slopes"):
            a[name] = None if a[name] is None else np.asarray(a[name])
        self.check(a)
        with np.errstate(all="ignore"):
            return self.compute(a)

    def compute(self, a):
        class s:
            pass
        query = a["query"]
        s.B, s.Hq, s.Sq, s.E = query.shape
        s.Hkv, s.Sk = a["key"].shape[1:3]
        s.P = 0 if a["past_key"] is None else a["past_key"].shape[2]
        present_key, present_value = self.prepend(a["past_key"], a["key"]), self.prepend(a["past_value"], a["value"])
        q, k, v = self.widen(query), self.widen(present_key), self.widen(present_value)
        s.T = k.shape[2]
        s.L, s.N = self.counts(a, s)
        s.p = self.place(a, s)[:, None] + np.arange(s.Sq)
        s.j = np.arange(s.T)
        k, v = self.share(k, s), self.share(v, s)
        scores = self.scaled(a, self.dots(q, k, s), s)
        logits = self.add_mask(a, self.bias(a, self.cap(a, scores, s), s), s)
        allowed = self.allowed(a, s)
        logits = np.where(allowed, logits, np.full((), -np.inf, logits.dtype))
        weights, logsumexp = self.softmax(logits, self.sink(a, logits.dtype, s), allowed, s)
        output = self.weigh(weights, v, allowed, s)
        results = {"output": output, "weights": weights, "logsumexp": logsumexp, "scores": scores, "logits": logits,
                   "present_key": present_key, "present_value": present_value}
        results = {n: r if r.dtype == query.dtype else r.astype(query.dtype) for n, r in results.items()}
        return self.finish(a, s, results)


def make(steps, outputs=None):
    """A function with the page's signature around an Attention; outputs: names of a dict, or nothing for output alone."""
    def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                     query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                     causal_alignment="top_left", scale=None, softcap=None, window=None):
        r = steps.run(query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
                      key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
                      is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
        return r["output"] if outputs is None else {name: r[name] for name in outputs}
    return scaled_dot_product_attention


scaled_dot_product_attention = make(Attention(), Attention.outputs)


def softmax(x, axis=-1):
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        w = x.astype(wide(x.dtype))
        if axis is not None:
            axis = range(x.ndim)[axis]
        e = np.exp(w - w.max(axis=axis, keepdims=True, initial=-np.inf))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    seen = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return np.where(seen, 0.0, -np.inf) if additive else seen


def split_heads(x, num_heads):
    x = np.asarray(x)
    refuse(x.ndim != 3, "rank")
    B, S, D = x.shape
    refuse(num_heads < 1 or D % num_heads != 0, "divisible")
    return x.reshape(B, S, num_heads, D // num_heads).transpose(0, 2, 1, 3).copy()


def combine_heads(x):
    x = np.asarray(x)
    refuse(x.ndim != 4, "rank")
    B, H, S, E = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * E).copy()


def check_single(x, w_query, w_key, w_value, w_output=None):
    refuse(any(np.ndim(w) != 2 for w in (x, w_query, w_key, w_value)), "rank")
    D = np.shape(x)[1]
    refuse(any(np.shape(w)[0] != D for w in (w_query, w_key, w_value)), "width")
    refuse(np.shape(w_query)[1] != np.shape(w_key)[1] or np.shape(w_query)[1] == 0, "d_k")
    refuse(w_output is not None and (np.ndim(w_output) != 2 or np.shape(w_output)[0] != np.shape(w_value)[1]), "d_v")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        w = x.astype(wide(x.dtype))
        q, k, v = (w @ np.asarray(m).astype(w.dtype) for m in (w_query, w_key, w_value))
        scores = q @ k.T * (1 / math.sqrt(q.shape[1]) if scale is None else float(scale))
        weights = softmax(scores)
        output = weights @ v
        if w_output is not None:
            output = output @ np.asarray(w_output).astype(w.dtype)
    results = {"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}
    return {n: r.astype(x.dtype) for n, r in results.items()}


def check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads):
    refuse(any(np.ndim(x) != 3 for x in (query, key, value)), "rank")
    B, Sq, D = np.shape(query)
    Sk = np.shape(key)[1]
    refuse(np.shape(key) != (B, Sk, D) or np.shape(value) != (B, Sk, D), "shapes of query, key and value")
    refuse(any(np.shape(w) != (D, D) for w in (w_query, w_key, w_value, w_output)), "weights")
    refuse(any(b is not None and np.shape(b) != (D,) for b in (b_query, b_key, b_value, b_output)), "biases")
    refuse(num_heads < 1 or D % num_heads != 0 or D == 0, "divisible")
    if mask is not None:
        refuse(np.asarray(mask).dtype.kind in "iuc" or not 2 <= np.ndim(mask) <= 4, "mask")
        target = (B, num_heads, Sq, Sk)
        refuse(np.shape(mask)[-1] != Sk, "last axis of the mask")
        refuse(any(n not in (1, t) for n, t in zip(np.shape(mask)[::-1], target[::-1])), "shape of the mask")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    dtype = np.asarray(query).dtype
    w = wide(dtype)

    def project(x, m, b):
        y = np.asarray(x).astype(w) @ np.asarray(m).astype(w)
        return y if b is None else y + np.asarray(b).astype(w)

    with np.errstate(all="ignore"):
        q, k, v = project(query, w_query, b_query), project(key, w_key, b_key), project(value, w_value, b_value)
        r = scaled_dot_product_attention(split_heads(q, num_heads), split_heads(k, num_heads), split_heads(v, num_heads),
                                         mask=mask, is_causal=is_causal, scale=scale)
        output = project(combine_heads(r["output"]), w_output, b_output)
    return {"output": output.astype(dtype), "weights": r["weights"].astype(dtype)}


def context_vector(encoder_states, decoder_state, scale=None):
    states, state = np.asarray(encoder_states), np.asarray(decoder_state)
    refuse(states.ndim != 2 or state.ndim != 1, "rank")
    refuse(states.shape[1] != state.shape[0] or state.shape[0] == 0, "width")
    w = wide(states.dtype)
    with np.errstate(all="ignore"):
        raw = states.astype(w) @ state.astype(w)
        scores = raw * (1 / math.sqrt(states.shape[1]) if scale is None else float(scale))
        weights = softmax(scores)
        context = weights @ states.astype(w)
    results = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw}
    return {n: r.astype(states.dtype) for n, r in results.items()}


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))


SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


def check_frequencies(width, theta, scaling, factor, original_length, low, high, short, long, proportion):
    """Refuses; returns the scaling's name."""
    scaling = "none" if scaling is None else scaling
    refuse(scaling not in SCALINGS, "scaling")
    refuse(width < 2 or width % 2 != 0, "width")
    refuse(not theta > 0, "theta")
    if scaling not in ("none", "proportional"):
        refuse(factor is None, "needs factor")
    if scaling != "none" and factor is not None:
        refuse(not factor > 0, "factor")
    if scaling in ("dynamic", "llama3", "longrope", "yarn"):
        refuse(original_length is None, "needs original_length")
    if scaling == "dynamic":
        refuse(width < 4, "width of dynamic")
    if scaling == "llama3":
        refuse(low is None or high is None, "needs both frequency factors")
        refuse(not high > low, "frequency factors")
    if scaling == "longrope":
        refuse(short is None or long is None, "needs both lists")
        refuse(np.shape(short) != (width // 2,) or np.shape(long) != (width // 2,), "lists of R/2 factors")
    if scaling == "proportional":
        refuse(not 0 <= proportion <= 1, "proportion")
    if scaling == "yarn":
        refuse(not theta > 1, "theta of yarn")
    return scaling


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    scaling = check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor,
                                high_frequency_factor, short_factors, long_factors, proportion)
    R, base, s, L0 = width, float(theta), factor, original_length
    if scaling in ("dynamic", "longrope"):
        n = L0 if sequence_length is None else sequence_length
    if scaling == "dynamic":
        base = base * (s * max(n, L0) / L0 - s + 1) ** (R / (R - 2))
    i = np.arange(R // 2)
    f = base ** (-2.0 * i / R)
    a = 1.0
    if scaling == "linear":
        f = f / s
    elif scaling == "llama3":
        g = (L0 * f / (2 * math.pi) - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        g = np.clip(g, 0, 1)
        f = g * f + (1 - g) * f / s
    elif scaling == "longrope":
        f = f / np.asarray(long_factors if n > L0 else short_factors, np.float64)
        a = math.sqrt(1 + math.log(s) / math.log(L0)) if attention_factor is None else float(attention_factor)
    elif scaling == "proportional":
        turning = math.floor(proportion * R / 2)
        f = np.where(i < turning, f / (1 if s is None else s), 0.0)
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
            a = float(attention_factor)
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            a = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            a = m(1)
    return {"inverse_frequencies": f, "attention_factor": np.float64(a)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    p, f = np.asarray(position_ids), np.asarray(inverse_frequencies)
    refuse(p.ndim != 2 or f.ndim != 1, "rank")
    refuse(p.size and p.dtype.kind not in "iu", "positions are integers")
    w = wide(f.dtype)
    phase = p.astype(w)[:, :, None] * f.astype(w)
    return {"cos": (np.cos(phase) * float(attention_factor)).astype(f.dtype),
            "sin": (np.sin(phase) * float(attention_factor)).astype(f.dtype)}


def check_rotary(x, cos, sin, pairing):
    refuse(np.ndim(x) != 4 or np.ndim(cos) != 3 or np.ndim(sin) != 3, "rank")
    refuse(np.shape(cos) != np.shape(sin), "tables")
    B, H, S, E = np.shape(x)
    refuse(np.shape(cos)[:2] != (B, S), "tokens")
    refuse(2 * np.shape(cos)[2] > E, "width")
    refuse(pairing not in ("half", "interleaved"), "pairing")


def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    half = cos.shape[2]
    first, second = ((slice(0, half), slice(half, 2 * half)) if pairing == "half"
                     else (slice(0, 2 * half, 2), slice(1, 2 * half, 2)))
    w = np.promote_types(wide(x.dtype), wide(cos.dtype))
    a, b = x[..., first].astype(w), x[..., second].astype(w)
    c, s = cos.astype(w)[:, None], sin.astype(w)[:, None]
    output = x.copy()
    with np.errstate(all="ignore"):
        output[..., first] = (c * a - s * b).astype(x.dtype)
        output[..., second] = (s * a + c * b).astype(x.dtype)
    return output

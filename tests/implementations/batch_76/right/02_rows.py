"""One query at a time: the keys that it may attend to are gathered, and nothing else is ever touched."""

import math

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def need(condition, what="shapes"):
    if not condition:
        raise ValueError(what)


def real(x):
    return np.array(x).astype(np.float64)


def broadcasts(shape, owed):
    return len(shape) <= len(owed) and all(a == b or a == 1 for a, b in zip(shape[::-1], owed[::-1]))


class Call:
    def __init__(self, query, key, value, mask, key_lengths, query_lengths, sinks, alibi, causal, alignment, scale,
                 softcap, window, past=0):
        need(np.ndim(query) == 4 and np.ndim(key) == 4 and np.ndim(value) == 4)
        (self.B, self.H, self.S, self.E), (kb, self.G, self.K, ke) = query.shape, key.shape
        need(kb == self.B and value.shape[0] == self.B and ke == self.E and value.shape[1:3] == (self.G, self.K))
        need(self.H == 0 or self.G != 0)
        need(self.G == 0 or self.H % self.G == 0)
        self.L, self.N = [self.K] * self.B, [self.S] * self.B
        if key_lengths is not None:
            need(key_lengths.shape == (self.B,) and not (key_lengths < 0).any() and not (key_lengths > self.K).any())
            self.L = key_lengths.tolist()
        if query_lengths is not None:
            need(query_lengths.shape == (self.B,) and not (query_lengths < 0).any())
            need(not (query_lengths > self.S).any())
            self.N = query_lengths.tolist()
        if mask is not None:
            need(mask.ndim in (2, 3, 4) and mask.dtype.kind not in "iu")
            need(mask.shape[-1] == self.K and broadcasts(mask.shape, (self.B, self.H, self.S, self.K)))
            mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        need(softcap is None or softcap >= 0)
        need(alignment in ("top_left", "bottom_right"))
        self.mask, self.sinks, self.alibi, self.causal = mask, sinks, alibi, causal
        self.top, self.past, self.softcap = alignment == "top_left", past, softcap
        self.left, self.right = (None, None) if window is None else window
        self.scale = self.E**-0.5 if scale is None else float(scale)
        self.per = self.H // self.G if self.G else 1
        self.query, self.key, self.value = query, key, value

    def place(self, b, i):
        return i + self.past if self.top else i + self.L[b] - self.N[b]

    def mask_at(self, b, h, i):
        n = self.mask.shape
        return (b if n[0] > 1 else 0, h if n[1] > 1 else 0, i if n[2] > 1 else 0)

    def seen(self, b, h, i):
        p = self.place(b, i)
        begin, end = 0, self.L[b]
        if self.causal:
            end = min(end, p + 1)
        if self.left is not None:
            begin = max(begin, p - self.left)
        if self.right is not None:
            end = min(end, p + self.right + 1)
        keys = np.arange(begin, max(begin, end))
        if self.mask is not None:
            row = self.mask[self.mask_at(b, h, i)][keys]
            keys = keys[row if row.dtype == bool else row.astype(np.float64) != -np.inf]
        return keys

    def row(self, b, h, i):
        """Keys, scores, weights and logsumexp of a query."""
        keys = self.seen(b, h, i)
        g = h // self.per
        q, k = self.query[b, h, i], self.key[b, g][keys]
        scores = np.array([np.dot(q, one) for one in k]) * self.scale if len(keys) else np.zeros(0)
        logits = scores
        if self.softcap:
            logits = np.tanh(logits / self.softcap) * self.softcap
        if self.alibi is not None:
            logits = logits - float(self.alibi[h]) * np.abs(self.place(b, i) - keys)
        if self.mask is not None and self.mask.dtype != bool:
            logits = logits + self.mask[self.mask_at(b, h, i)][keys].astype(np.float64)
        joined = logits if self.sinks is None else np.append(logits, float(self.sinks[h]))
        if len(joined) == 0:
            return keys, scores, np.zeros(0), -np.inf
        most = joined.max()
        if most == -np.inf:
            return keys, scores, np.zeros(len(keys)), -np.inf
        e = np.exp(joined - most)
        return keys, scores, e[: len(keys)] / e.sum(), most + np.log(e.sum())

    def rows(self):
        for b in range(self.B):
            for h in range(self.H):
                for i in range(self.N[b]):
                    yield b, h, h // self.per, i


def weighed(weights, values):
    total = np.zeros(values.shape[1])
    for w, v in zip(weights, values):
        total = total + w * v
    return total


def numbers(x, scale, B, G, per=1):
    if scale is None:
        return real(x)
    need(scale.ndim <= 2 and broadcasts(scale.shape, (B, G)))
    table = np.broadcast_to(real(scale), (B, G))
    result = real(x)
    for b in range(B):
        for h in range(x.shape[1]):
            result[b, h] *= table[b, h // per]
    return result


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    need((past_key is None) == (past_value is None))
    past = 0
    need(np.ndim(query) == 4 and np.ndim(key) == 4 and np.ndim(value) == 4)
    if past_key is not None:
        need(past_key.ndim == 4 and past_value.ndim == 4 and key_lengths is None and query_lengths is None)
        past = past_key.shape[2]
        need(past_value.shape[2] == past)
        need(key.shape[2] == value.shape[2])
        key, value = np.concatenate((past_key, key), axis=2), np.concatenate((past_value, value), axis=2)
    dtype = query.dtype
    if query_scale is not None:
        dtype = np.dtype(getattr(ml_dtypes, output_dtype) if output_dtype == "bfloat16" else output_dtype)
    B, G = key.shape[:2]
    need(G == 0 or query.shape[1] % G == 0)
    per = query.shape[1] // G if G else 1
    with np.errstate(all="ignore"):
        # shapes are looked at before numbers are multiplied
        Call(query, key, value, mask, key_lengths, query_lengths, sinks, alibi_slopes, is_causal, causal_alignment,
             scale, softcap, window, past)
        q, k, v = (numbers(query, query_scale, B, G, per), numbers(key, key_scale, B, G),
                   numbers(value, value_scale, B, G))
        c = Call(q, k, v, mask, key_lengths, query_lengths, sinks, alibi_slopes, is_causal, causal_alignment, scale,
                 softcap, window, past)
        output = np.zeros((c.B, c.H, c.S, value.shape[3]))
        log = np.full((c.B, c.H, c.S), -np.inf)
        weights = np.zeros((c.B, c.H, c.S, c.K))
        for b, h, g, i in c.rows():
            keys, _, w, log[b, h, i] = c.row(b, h, i)
            weights[b, h, i, keys] = w
            output[b, h, i] = weighed(w, v[b, g][keys])
        result = {"output": output.astype(dtype), "weights": weights, "logsumexp": log}
    if query_scale is None and key_scale is None and value_scale is None:
        result["present_key"], result["present_value"] = np.array(key), np.array(value)
    return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    with np.errstate(all="ignore"):
        c = Call(real(query), real(key), real(value), mask, key_lengths, query_lengths, sinks, alibi_slopes, is_causal,
                 causal_alignment, scale, softcap, window)
        need(grad_output.shape == c.query.shape[:3] + c.value.shape[3:])
        need(grad_logsumexp is None or grad_logsumexp.shape == c.query.shape[:3])
        go = real(grad_output)
        gl = np.zeros(go.shape[:3]) if grad_logsumexp is None else real(grad_logsumexp)
        dq, dk, dv = np.zeros(c.query.shape), np.zeros(c.key.shape), np.zeros(c.value.shape)
        dmask = np.zeros(c.mask.shape) if mask is not None and mask.dtype != bool else None
        dsinks = np.zeros(c.H)
        deltas = np.zeros(go.shape[:3])
        for b, h, g, i in c.rows():
            keys, scores, w, log = c.row(b, h, i)
            gw = np.array([np.dot(go[b, h, i], v) for v in c.value[b, g][keys]]) if len(keys) else np.zeros(0)
            delta = deltas[b, h, i] = (w * gw).sum()
            gz = w * (gw - delta + gl[b, h, i])
            gs = gz * (1 - np.tanh(scores / softcap) ** 2) if softcap else gz
            for n, j in enumerate(keys):
                dv[b, g, j] += w[n] * go[b, h, i]
                dk[b, g, j] += c.scale * gs[n] * c.query[b, h, i]
                dq[b, h, i] += c.scale * gs[n] * c.key[b, g, j]
            if dmask is not None:
                dmask[c.mask_at(b, h, i)][keys] += gz
            if sinks is not None and float(sinks[h]) != -np.inf:
                dsinks[h] += np.exp(float(sinks[h]) - log) * (gl[b, h, i] - delta)
        dtype = query.dtype
        return (
            {"grad_query": dq.astype(dtype), "grad_key": dk.astype(dtype), "grad_value": dv.astype(dtype)}
            | ({} if dmask is None else {"grad_mask": dmask.reshape(mask.shape)})
            | ({} if sinks is None else {"grad_sinks": dsinks})
            | {"delta": deltas}
        )


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    need(output_a.ndim == 4 and output_b.shape == output_a.shape)
    need(logsumexp_a.shape == output_a.shape[:-1] and logsumexp_b.shape == output_a.shape[:-1])
    with np.errstate(all="ignore"):
        a, b = real(logsumexp_a), real(logsumexp_b)
        share = 1 / (1 + np.exp(b - a))  # that of the first part
        other = 1 / (1 + np.exp(a - b))
        mixed = share[..., None] * real(output_a) + other[..., None] * real(output_b)
        mixed = mixed.astype(output_a.dtype)
        mixed = np.where((b == -np.inf)[..., None], output_a, mixed)
        mixed = np.where((a == -np.inf)[..., None], output_b, mixed)
        mixed = np.where(((a == -np.inf) & (b == -np.inf))[..., None], np.zeros((), output_a.dtype), mixed)
        return {"output": mixed, "logsumexp": np.logaddexp(a, b)}


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, *, num_heads, is_causal=False, scale=None,
):
    need(query.ndim == 3 and key.ndim == 3 and value.ndim == 3 and query.shape[2] % num_heads == 0)
    width = query.shape[2] // num_heads
    with np.errstate(all="ignore"):
        total = np.zeros(query.shape) if b_output is None else np.zeros(query.shape) + real(b_output)
        weights = []
        for h in range(num_heads):
            part = slice(h * width, (h + 1) * width)
            q, k, v = ((real(x) @ real(w)[:, part] + (0 if b is None else real(b)[part]))[:, None]
                       for x, w, b in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
            one = mask
            if mask is not None and mask.ndim >= 3 and mask.shape[-3] != 1:
                need(mask.shape[-3] == num_heads)
                one = mask[..., h : h + 1, :, :]
            got = scaled_dot_product_attention(q, k, v, one, is_causal=is_causal, scale=scale)
            total = total + got["output"][:, 0] @ real(w_output)[part]
            weights.append(got["weights"][:, 0])
        return {"output": total.astype(query.dtype), "weights": np.stack(weights, axis=1)}


def softmax(x, axis=-1):
    if x.size == 0:
        return x.copy()
    with np.errstate(all="ignore"):
        a = real(x)
        p = np.exp(a - np.max(a, axis=axis, keepdims=True))
        return (p / p.sum(axis=axis, keepdims=True)).astype(x.dtype)


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    scaling = scaling or "none"
    need(width >= 2 and width % 2 == 0 and theta > 0)
    needed = {
        "none": (), "linear": (factor,), "dynamic": (factor, original_length), "proportional": (),
        "llama3": (factor, original_length, low_frequency_factor, high_frequency_factor),
        "longrope": (factor, original_length, short_factors, long_factors), "yarn": (factor, original_length),
    }
    need(scaling in needed and all(item is not None for item in needed[scaling]), "parameters")
    need(scaling == "none" or factor is None or factor > 0)
    n = original_length if sequence_length is None else sequence_length
    attention = 1.0
    if scaling == "dynamic":
        need(width >= 4)
        theta = theta * (factor * max(n, original_length) / original_length - factor + 1) ** (width / (width - 2))
    f = [theta ** (-2 * i / width) for i in range(width // 2)]
    if scaling == "linear":
        f = [x / factor for x in f]
    elif scaling == "llama3":
        need(high_frequency_factor > low_frequency_factor)
        for i, x in enumerate(f):
            turns = original_length * x / (2 * math.pi)
            if turns < low_frequency_factor:
                f[i] = x / factor
            elif turns <= high_frequency_factor:
                g = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
                f[i] = g * x + (1 - g) * x / factor
    elif scaling == "longrope":
        need(len(short_factors) == len(long_factors) == len(f))
        f = [x / by for x, by in zip(f, long_factors if n > original_length else short_factors)]
        attention = attention_factor
        if attention is None:
            attention = math.sqrt(1 + math.log(factor) / math.log(original_length))
    elif scaling == "proportional":
        need(0 <= proportion <= 1)
        f = [x / (factor or 1) if i < math.floor(proportion * (width // 2)) else 0.0 for i, x in enumerate(f)]
    elif scaling == "yarn":
        need(theta > 1)
        ends = [width * math.log(original_length / (2 * math.pi * b)) / (2 * math.log(theta))
                for b in (beta_fast, beta_slow)]
        if truncate:
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        low, high = max(ends[0], 0), min(ends[1], width - 1)
        high += 0.001 if low == high else 0
        for i, x in enumerate(f):
            r = min(max((i - low) / (high - low), 0), 1)
            f[i] = r * x / factor + (1 - r) * x
        a, b = magnitude_scaling, magnitude_scaling_all_dimensions
        attention = attention_factor
        if attention is None:
            attention = 0.1 * math.log(factor) + 1
            if a and b:
                attention = (0.1 * a * math.log(factor) + 1) / (0.1 * b * math.log(factor) + 1)
    return {"inverse_frequencies": np.array(f, dtype=np.float64), "attention_factor": np.array(float(attention))}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    need(position_ids.ndim == 2 and inverse_frequencies.ndim == 1)
    shape = position_ids.shape + inverse_frequencies.shape
    cos, sin = np.zeros(shape), np.zeros(shape)
    for b, s, i in np.ndindex(shape):
        phase = int(position_ids[b, s]) * float(inverse_frequencies[i])
        cos[b, s, i], sin[b, s, i] = attention_factor * math.cos(phase), attention_factor * math.sin(phase)
    return {"cos": cos.astype(inverse_frequencies.dtype), "sin": sin.astype(inverse_frequencies.dtype)}


def apply_rotary(x, cos, sin, pairing="half"):
    need(x.ndim == 4 and cos.ndim == 3 and cos.shape == sin.shape)
    need(cos.shape[:2] == (x.shape[0], x.shape[2]) and 2 * cos.shape[2] <= x.shape[3])
    need(pairing in ("half", "interleaved"))
    output = x.copy()
    pairs = cos.shape[2]
    with np.errstate(all="ignore"):
        for b, h, s, i in np.ndindex(x.shape[:3] + (pairs,)):
            m, n = (i, i + pairs) if pairing == "half" else (2 * i, 2 * i + 1)
            first, second = np.float64(x[b, h, s, m]), np.float64(x[b, h, s, n])
            c, d = np.float64(cos[b, s, i]), np.float64(sin[b, s, i])
            output[b, h, s, m] = (c * first - d * second).astype(x.dtype)
            output[b, h, s, n] = (d * first + c * second).astype(x.dtype)
    return output

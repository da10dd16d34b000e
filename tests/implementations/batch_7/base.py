"""Right attention, one replaceable step at a time (NumPy)."""
import math
import numpy as np

NEG = -np.inf


def work(dtype):
    """The dtype that is computed in: half precision is carried in float32."""
    dtype = np.dtype(dtype)
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def check(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          sinks=None, alibi_slopes=None, causal_alignment="top_left"):
    """Refuse what does not fit together."""
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("query, key and value must have rank 4")
    B, HQ, SQ, E = query.shape
    _, HK, SK, EK = key.shape
    if E != EK:
        raise ValueError("query and key differ in width")
    if key.shape[0] != B or value.shape[0] != B:
        raise ValueError("batch sizes differ")
    if value.shape[1] != HK or HK == 0 or HQ % HK:
        raise ValueError("heads do not fit")
    if value.shape[2] != SK:
        raise ValueError("key and value differ in length")
    P = 0
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value come together")
    if past_key is not None:
        P = past_key.shape[2]
        if past_key.shape != (B, HK, P, E) or past_value.shape != (B, HK, P, value.shape[3]):
            raise ValueError("the past does not fit")
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != P + SK:
            raise ValueError("the mask does not fit")
        full = (B, HQ, SQ, P + SK)[-mask.ndim:]
        if any(have not in (1, want) for have, want in zip(mask.shape, full)):
            raise ValueError("the mask does not fit")
    for lengths, limit in ((key_lengths, SK), (query_lengths, SQ)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            if lengths.shape != (B,) or (lengths < 0).any() or (lengths > limit).any():
                raise ValueError("the lengths do not fit")
    for extra in (sinks, alibi_slopes):
        if extra is not None and np.asarray(extra).shape != (HQ,):
            raise ValueError("one number for each query head")
    if causal_alignment not in ("top_left", "bottom_right"):
        raise ValueError("unknown alignment")


class Attention:
    order = ("check prepend widen place share score rescale cap bias add_mask exclude softmax lse weigh "
             "finish").split()

    def __init__(self, **given):
        self.__dict__.update(given)

    def run(self, outputs):
        with np.errstate(all="ignore"):
            for name in self.order:
                getattr(self, name)()
        return self.result(outputs)

    def result(self, outputs):
        results = {name: getattr(self, name) for name in outputs}
        return results["output"] if tuple(outputs) == ("output",) else results

    def check(self):
        check(self.query, self.key, self.value, self.mask, self.past_key, self.past_value, self.key_lengths,
              self.query_lengths, self.sinks, self.alibi_slopes, self.causal_alignment)

    def prepend(self):
        if self.past_key is None:
            self.P = 0
            self.present_key, self.present_value = self.key.copy(), self.value.copy()
        else:
            self.P = self.past_key.shape[2]
            self.present_key = np.concatenate([self.past_key, self.key], axis=2)
            self.present_value = np.concatenate([self.past_value, self.value], axis=2)

    def widen(self):
        self.w = work(self.query.dtype)
        self.q = self.query.astype(self.w)
        self.k = self.present_key.astype(self.w)
        self.v = self.present_value.astype(self.w)
        self.B, self.HQ, self.SQ, self.E = self.q.shape
        self.HK, self.T = self.k.shape[1:3]

    def lengths(self):
        full = np.full(self.B, self.T)
        self.L = full if self.key_lengths is None else np.asarray(self.key_lengths).astype(np.int64)
        self.N = np.full(self.B, self.SQ) if self.query_lengths is None \
            else np.asarray(self.query_lengths).astype(np.int64)

    def place(self):
        self.lengths()
        first = np.full(self.B, self.P) if self.causal_alignment == "top_left" else self.L - self.N
        self.p = first[:, None] + np.arange(self.SQ)

    def share(self):
        self.k = np.repeat(self.k, self.HQ // self.HK, axis=1)
        self.v = np.repeat(self.v, self.HQ // self.HK, axis=1)

    def score(self):
        self.scores = self.q @ self.k.swapaxes(-1, -2)

    def factor(self):
        return 1 / math.sqrt(self.E) if self.scale is None else float(self.scale)

    def rescale(self):
        self.scores = self.scores * self.factor()

    def cap(self):
        self.logits = self.scores
        if self.softcap:
            self.logits = np.tanh(self.scores / self.softcap) * self.softcap

    def distance(self):
        return np.abs(self.p[:, None, :, None] - np.arange(self.T)).astype(self.w)

    def bias(self):
        if self.alibi_slopes is not None:
            self.logits = self.logits - self.alibi_slopes.astype(self.w)[:, None, None] * self.distance()

    def add_mask(self):
        if self.mask is not None and self.mask.dtype != bool:
            self.logits = self.logits + self.mask.astype(self.w)

    def permitted(self):
        j = np.arange(self.T)
        p = self.p[:, None, :, None]
        ok = np.broadcast_to(j < self.L[:, None, None, None], (self.B, self.HQ, self.SQ, self.T)).copy()
        if self.is_causal:
            ok &= j <= p
        ok &= self.in_window(j, p)
        if self.mask is not None:
            ok &= self.mask if self.mask.dtype == bool else self.mask != NEG
        return ok

    def in_window(self, j, p):
        ok = np.ones_like(p + j, dtype=bool)
        if self.window is not None:
            left, right = self.window
            if left is not None:
                ok &= j >= p - left
            if right is not None:
                ok &= j <= p + right
        return ok

    def exclude(self):
        self.ok = self.permitted()
        self.logits = np.where(self.ok, self.logits, self.w.type(NEG))

    def top(self):
        top = self.logits.max(axis=-1, keepdims=True, initial=NEG)
        if self.sinks is not None:
            top = np.maximum(top, self.sinks.astype(self.w)[:, None, None])
        return np.where(top == NEG, self.w.type(0), top)

    def softmax(self):
        self.m = self.top()
        e = np.exp(self.logits - self.m)
        self.total = e.sum(axis=-1, keepdims=True)
        if self.sinks is not None:
            self.total = self.total + np.exp(self.sinks.astype(self.w)[:, None, None] - self.m)
        self.weights = e / np.where(self.total == 0, self.w.type(1), self.total)

    def lse(self):
        self.logsumexp = (np.log(self.total) + self.m)[..., 0]

    def weigh(self):
        if np.isfinite(self.v).all():
            self.output = self.weights @ self.v
        else:
            parts = np.where(self.ok[..., None], self.weights[..., None] * self.v[:, :, None], self.w.type(0))
            self.output = parts.sum(axis=-2)

    def finish(self):
        self.output = self.output.astype(self.query.dtype)


ALL = ("output", "weights", "logsumexp", "scores", "logits", "present_key", "present_value")


def make(cls, *outputs):
    outputs = outputs or ("output",)

    def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                     query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                     causal_alignment="top_left", scale=None, softcap=None, window=None):
        return cls(query=query, key=key, value=value, mask=mask, past_key=past_key, past_value=past_value,
                   key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
                   is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap,
                   window=window).run(outputs)
    return scaled_dot_product_attention


scaled_dot_product_attention = make(Attention, *ALL)


def softmax(x, axis=-1):
    w = work(x.dtype)
    e = x.astype(w)
    if axis is None:
        m = e.max() if e.size else 0
    else:
        m = e.max(axis=axis, keepdims=True) if e.shape[axis] else 0
    e = np.exp(e - m)
    return np.asarray(e / e.sum(axis=axis, keepdims=axis is not None)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    ok = np.arange(key_length) <= np.arange(query_length)[:, None] + offset
    return np.where(ok, 0.0, NEG) if additive else ok


def split_heads(x, num_heads):
    B, S, D = x.shape
    if num_heads < 1 or D % num_heads:
        raise ValueError("the number of heads must divide the features")
    return x.reshape(B, S, num_heads, D // num_heads).transpose(0, 2, 1, 3).copy()


def combine_heads(x):
    B, H, S, E = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * E).copy()


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1 or encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("the states differ in width")
    w = work(encoder_states.dtype)
    states = encoder_states.astype(w)
    raw = states @ decoder_state.astype(w)
    scores = raw * (1 / math.sqrt(states.shape[1]) if scale is None else float(scale))
    e = np.exp(scores - scores.max(initial=NEG)) if scores.size else scores
    weights = e / e.sum()
    return {"context": (weights @ states).astype(encoder_states.dtype), "weights": weights, "scores": scores,
            "raw_scores": raw}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    w = work(x.dtype)
    t = x.astype(w)
    q, k, v = t @ w_query.astype(w), t @ w_key.astype(w), t @ w_value.astype(w)
    scores = (q @ k.T) * (1 / math.sqrt(q.shape[1]) if scale is None else float(scale))
    weights = softmax(scores)
    out = weights @ v
    if w_output is not None:
        out = out @ w_output.astype(w)
    d = x.dtype
    return {"output": out.astype(d), "weights": weights, "scores": scores, "query": q.astype(d), "key": k.astype(d),
            "value": v.astype(d)}


class MultiHead:
    order = "check widen project split attend combine mix finish".split()

    def __init__(self, **given):
        self.__dict__.update(given)

    def run(self, outputs):
        for name in self.order:
            getattr(self, name)()
        results = {name: getattr(self, name) for name in outputs}
        return results["output"] if tuple(outputs) == ("output",) else results

    def check(self):
        if self.query.ndim != 3 or self.key.ndim != 3 or self.value.ndim != 3:
            raise ValueError("query, key and value must have rank 3")
        if self.num_heads < 1 or self.query.shape[2] % self.num_heads:
            raise ValueError("the number of heads must divide the features")

    def widen(self):
        self.w = work(self.query.dtype)
        self.D = self.query.shape[2]
        self.H = self.num_heads

    def project(self):
        def one(x, m, b):
            y = x.astype(self.w) @ m.astype(self.w)
            return y if b is None else y + b.astype(self.w)
        self.q = one(self.query, self.w_query, self.b_query)
        self.k = one(self.key, self.w_key, self.b_key)
        self.v = one(self.value, self.w_value, self.b_value)

    def split(self):
        self.q, self.k, self.v = (split_heads(x, self.H) for x in (self.q, self.k, self.v))

    def attend(self):
        r = make(Attention, "output", "weights")(self.q, self.k, self.v, mask=self.mask, is_causal=self.is_causal,
                                                scale=self.scale)
        self.heads, self.weights = r["output"], r["weights"]

    def combine(self):
        self.mixed = combine_heads(self.heads)

    def mix(self):
        self.output = self.mixed @ self.w_output.astype(self.w)
        if self.b_output is not None:
            self.output = self.output + self.b_output.astype(self.w)

    def finish(self):
        self.output = self.output.astype(self.query.dtype)


def make_multi(cls, *outputs):
    outputs = outputs or ("output",)

    def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None,
                             b_value=None, b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
        return cls(query=query, key=key, value=value, w_query=w_query, w_key=w_key, w_value=w_value,
                   w_output=w_output, b_query=b_query, b_key=b_key, b_value=b_value, b_output=b_output, mask=mask,
                   num_heads=num_heads, is_causal=is_causal, scale=scale).run(outputs)
    return multi_head_attention


multi_head_attention = make_multi(MultiHead, "output", "weights")


def glorot_normal(fan_in, fan_out, seed):
    return np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))


def rotary_frequencies(width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1, beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    if width < 2 or width % 2:
        raise ValueError("width")
    needs = {"none": [], "linear": ["factor"], "dynamic": ["factor", "original_length"],
             "llama3": ["factor", "original_length", "low_frequency_factor", "high_frequency_factor"],
             "longrope": ["factor", "original_length", "short_factors", "long_factors"], "proportional": [],
             "yarn": ["factor", "original_length"]}
    scaling = "none" if scaling is None else scaling
    if scaling not in needs:
        raise ValueError("scaling")
    given = locals()
    for name in needs[scaling]:
        if given[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if theta <= 0 or (scaling != "none" and factor is not None and factor <= 0):
        raise ValueError("range")
    if scaling == "yarn" and theta <= 1 or scaling == "dynamic" and width < 4:
        raise ValueError("range")
    if scaling == "llama3" and high_frequency_factor <= low_frequency_factor:
        raise ValueError("range")
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError("range")
    R, half = width, width // 2
    s, L0 = factor, original_length
    i = np.arange(half, dtype=np.float64)
    base = float(theta)
    if scaling == "dynamic":
        n = max(L0 if sequence_length is None else sequence_length, L0)
        base = base * (s * n / L0 - s + 1) ** (R / (R - 2))
    f = base ** (-2 * i / R)
    af = 1.0
    if scaling == "linear":
        f = f / s
    elif scaling == "llama3":
        g = (L0 * f / (2 * math.pi) - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
        g = np.clip(g, 0, 1)
        f = g * f + (1 - g) * f / s
    elif scaling == "longrope":
        short, long = np.asarray(short_factors, np.float64), np.asarray(long_factors, np.float64)
        if short.shape != (half,) or long.shape != (half,):
            raise ValueError("factor lists")
        f = f / (long if sequence_length is not None and sequence_length > L0 else short)
        af = math.sqrt(1 + math.log(s) / math.log(L0)) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        turning = int(math.floor(proportion * R / 2))
        f = np.where(i < turning, f / (1 if s is None else s), 0.0)
    elif scaling == "yarn":
        def d(b):
            return R * math.log(L0 / (2 * math.pi * b)) / (2 * math.log(theta))
        low, high = d(beta_fast), d(beta_slow)
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, R - 1)
        if low == high:
            high += 0.001
        r = np.clip((i - low) / (high - low), 0, 1)
        f = r * f / s + (1 - r) * f

        def m(a):
            return 0.1 * a * math.log(s) + 1
        if attention_factor is not None:
            af = attention_factor
        elif magnitude_scaling and magnitude_scaling_all_dimensions:
            af = m(magnitude_scaling) / m(magnitude_scaling_all_dimensions)
        else:
            af = m(1)
    return {"inverse_frequencies": f, "attention_factor": np.asarray(af, np.float64)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    w = work(inverse_frequencies.dtype)
    phase = position_ids.astype(w)[..., None] * inverse_frequencies.astype(w)
    d = inverse_frequencies.dtype
    return {"cos": (np.cos(phase) * float(attention_factor)).astype(d),
            "sin": (np.sin(phase) * float(attention_factor)).astype(d)}


def check_rotary(x, cos, sin, pairing):
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("rank")
    if cos.shape != sin.shape:
        raise ValueError("tables differ")
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("width")
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing")


def apply_rotary(x, cos, sin, pairing="half"):
    check_rotary(x, cos, sin, pairing)
    w = work(x.dtype)
    r = cos.shape[2]
    first = slice(0, r) if pairing == "half" else slice(0, 2 * r, 2)
    second = slice(r, 2 * r) if pairing == "half" else slice(1, 2 * r, 2)
    c, s = cos.astype(w)[:, None], sin.astype(w)[:, None]
    a, b = x[..., first].astype(w), x[..., second].astype(w)
    out = x.copy()
    with np.errstate(all="ignore"):
        out[..., first] = (c * a - s * b).astype(x.dtype)
        out[..., second] = (s * a + c * b).astype(x.dtype)
    return out

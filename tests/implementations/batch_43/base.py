"""Right implementations after the pages, and parts that the other files use."""
import math

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")


# ---------------------------------------------------------------- parts: rotary

def as_array(a):
    return np.asarray(a)


def check_rotary(x, cos, sin, pairing):
    if pairing not in ("half", "interleaved"):
        raise ValueError(f"pairing {pairing!r} is neither half nor interleaved")
    if x.ndim != 4:
        raise ValueError("x must be of rank 4")
    if cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("tables must be of rank 3")
    if cos.shape != sin.shape:
        raise ValueError("cos and sin differ in shape")
    if cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2]:
        raise ValueError("tables do not fit the tokens of x")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables have more pairs than the features of x make")


def pair_slices(pairs, pairing):
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def wide(dtype):
    """The dtype that everything is computed in."""
    return np.float64


def turn(first, second, cos, sin):
    with np.errstate(all="ignore"):
        return cos * first - sin * second, sin * first + cos * second


def rounded(a, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(dtype)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = as_array(x), as_array(cos), as_array(sin)
    check_rotary(x, cos, sin, pairing)
    one, two = pair_slices(cos.shape[2], pairing)
    w = wide(x.dtype)
    c, s = cos.astype(w)[:, None], sin.astype(w)[:, None]
    first, second = turn(x[..., one].astype(w), x[..., two].astype(w), c, s)
    out = np.array(x, order="C", copy=True)
    out[..., one] = rounded(first, x.dtype)
    out[..., two] = rounded(second, x.dtype)
    return {"output": out}


def check_tables(position_ids, inverse_frequencies):
    if position_ids.ndim != 2:
        raise ValueError("position_ids must be of rank 2")
    if inverse_frequencies.ndim != 1:
        raise ValueError("inverse_frequencies must be of rank 1")


def tables_of(phases, attention_factor, dtype):
    return {
        "cos": rounded(np.cos(phases) * attention_factor, dtype),
        "sin": rounded(np.sin(phases) * attention_factor, dtype),
    }


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    p, f = as_array(position_ids), as_array(inverse_frequencies)
    check_tables(p, f)
    phases = p.astype(np.float64)[:, :, None] * f.astype(np.float64)
    return tables_of(phases, attention_factor, f.dtype)


SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")
NEEDS = {
    "none": (), "linear": ("factor",), "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (), "yarn": ("factor", "original_length"),
}


def check_frequencies(a, lists=("short_factors", "long_factors")):
    """Refuse what the page refuses; `a` is the dict of all arguments."""
    width, scaling = a["width"], a["scaling"]
    if width != int(width) or width < 2 or width % 2:
        raise ValueError("width must be even and at least 2")
    if scaling not in SCALINGS:
        raise ValueError(f"unknown scaling {scaling!r}")
    for name in NEEDS[scaling]:
        if a[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if not a["theta"] > 0:
        raise ValueError("theta must be above 0")
    if scaling != "none" and a["factor"] is not None and not a["factor"] > 0:
        raise ValueError("factor must be above 0")
    if scaling == "yarn" and not a["theta"] > 1:
        raise ValueError("theta must be above 1 under yarn")
    if scaling == "llama3" and not a["high_frequency_factor"] > a["low_frequency_factor"]:
        raise ValueError("high_frequency_factor must be above low_frequency_factor")
    if scaling == "dynamic" and width < 4:
        raise ValueError("dynamic needs a width of at least 4")
    if scaling == "proportional" and not 0 <= a["proportion"] <= 1:
        raise ValueError("proportion must lie between 0 and 1")
    if scaling == "longrope":
        for name in lists:
            if np.shape(a[name]) != (width // 2,):
                raise ValueError(f"{name} must have R/2 elements")


def powers(theta, width):
    return float(theta) ** (-2.0 * np.arange(width // 2) / width)


def dynamic_base(theta, width, s, n, l0):
    n = max(n, l0)
    return theta * (s * n / l0 - s + 1) ** (width / (width - 2))


def llama3(f, s, l0, low, high):
    g = np.clip((l0 * f / (2 * math.pi) - low) / (high - low), 0, 1)
    return g * f + (1 - g) * f / s


def longrope_uses_long(sequence_length, l0):
    return sequence_length is not None and sequence_length > l0


def yarn_bound(b, width, theta, l0):
    return width * math.log(l0 / (2 * math.pi * b)) / (2 * math.log(theta))


def yarn_range(width, theta, l0, beta_fast, beta_slow, truncate):
    low, high = yarn_bound(beta_fast, width, theta, l0), yarn_bound(beta_slow, width, theta, l0)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    return low, high + 0.001 if low == high else high


def yarn_blend(f, s, low, high):
    r = np.clip((np.arange(len(f)) - low) / (high - low), 0, 1)
    return r * f / s + (1 - r) * f


def magnitude(a, s):
    return 0.1 * a * math.log(s) + 1


def yarn_attention_factor(s, one, other):
    if one and other:
        return magnitude(one, s) / magnitude(other, s)
    return magnitude(1.0, s)


def longrope_attention_factor(s, l0):
    return math.sqrt(1 + math.log(s) / math.log(l0))


def frequencies_of(f, attention_factor):
    return {"inverse_frequencies": np.array(f, dtype=np.float64),
            "attention_factor": np.asarray(attention_factor, dtype=np.float64)}


def rotary_frequencies(width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
                       low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None,
                       proportion=1.0, beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None,
                       magnitude_scaling_all_dimensions=None, attention_factor=None):
    check_frequencies(dict(locals()))
    m, base, l0 = 1.0, theta, original_length
    if scaling == "dynamic":
        base = dynamic_base(theta, width, factor, l0 if sequence_length is None else sequence_length, l0)
    f = powers(base, width)
    if scaling == "linear":
        f = f / factor
    elif scaling == "llama3":
        f = llama3(f, factor, l0, low_frequency_factor, high_frequency_factor)
    elif scaling == "longrope":
        chosen = long_factors if longrope_uses_long(sequence_length, l0) else short_factors
        f = f / np.asarray(chosen).astype(np.float64)
        m = longrope_attention_factor(factor, l0) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        turning = math.floor(proportion * (width // 2))
        f = f / (1.0 if factor is None else factor)
        f[turning:] = 0
    elif scaling == "yarn":
        low, high = yarn_range(width, theta, l0, beta_fast, beta_slow, truncate)
        f = yarn_blend(f, factor, low, high)
        m = attention_factor
        if m is None:
            m = yarn_attention_factor(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
    return frequencies_of(f, m)


# ---------------------------------------------------------------- parts: attention

def written(allowed, additive):
    return {"output": np.where(allowed, 0.0, -np.inf) if additive else np.array(allowed, dtype=bool)}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return written(allowed, additive)


def check_heads(x, num_heads):
    if x.ndim != 3:
        raise ValueError("x must be of rank 3")
    if num_heads < 1 or x.shape[2] % num_heads:
        raise ValueError("num_heads must divide the features")


def split_heads(x, num_heads):
    x = as_array(x)
    check_heads(x, num_heads)
    b, s, d = x.shape
    return {"output": x.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3).copy()}


def check_combine(x):
    if x.ndim != 4:
        raise ValueError("x must be of rank 4")


def combine_heads(x):
    x = as_array(x)
    check_combine(x)
    b, h, s, e = x.shape
    return {"output": x.transpose(0, 2, 1, 3).copy().reshape(b, s, h * e)}


def deviation(fan_in, fan_out):
    return math.sqrt(2.0 / (fan_in + fan_out))


def glorot_normal(fan_in, fan_out, seed):
    return {"output": np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * deviation(fan_in, fan_out)}


def check_context(h, d):
    if h.ndim != 2 or d.ndim != 1:
        raise ValueError("encoder_states must be of rank 2, decoder_state of rank 1")
    if h.shape[1] != d.shape[0]:
        raise ValueError("states of different numbers of features")


def default_scale(scale, features):
    return 1 / math.sqrt(features) if scale is None else scale


def shares(scores):
    if not len(scores):
        return scores.copy()
    e = np.exp(scores - scores.max())
    return e / e.sum()


def context_outputs(context, weights, scores, raw, dtype):
    return {"context": rounded(context, dtype), "weights": rounded(weights, dtype),
            "scores": rounded(scores, dtype), "raw_scores": rounded(raw, dtype)}


def context_vector(encoder_states, decoder_state, scale=None):
    h, d = as_array(encoder_states), as_array(decoder_state)
    check_context(h, d)
    w = wide(h.dtype)
    hw, dw = h.astype(w), d.astype(w)
    raw = hw @ dw
    scores = raw * default_scale(scale, h.shape[1])
    weights = shares(scores)
    return context_outputs(weights @ hw, weights, scores, raw, h.dtype)

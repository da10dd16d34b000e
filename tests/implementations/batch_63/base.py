"""Right implementations after the pages, and parts of them that the other files use."""
import math

import ml_dtypes
import numpy as np

bfloat16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), bfloat16)
DTYPES = ("float64", "float32", "bfloat16", "float16")


def work(dtype):
    """The dtype to compute in: float64 for float64, float32 for the others."""
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


# ---- apply_rotary


def check_rotary(x, cos, sin, pairing):
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing is half or interleaved")
    if x.ndim != 4:
        raise ValueError("x has the axes batch, heads, tokens, features")
    if cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("tables have the axes batch, tokens, pairs")
    if cos.shape != sin.shape:
        raise ValueError("cos and sin have one shape")
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("the tables are for other tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("more pairs than features")


def pair_slices(half, pairing):
    if pairing == "half":
        return slice(0, half), slice(half, 2 * half)
    return slice(0, 2 * half, 2), slice(1, 2 * half, 2)


def rotate(first, second, cos, sin):
    with np.errstate(all="ignore"):
        return cos * first - sin * second, sin * first + cos * second


def rounded(array, dtype):
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    check_rotary(x, cos, sin, pairing)
    wide = work(x.dtype)
    one, two = pair_slices(cos.shape[2], pairing)
    c, s = cos.astype(wide)[:, None], sin.astype(wide)[:, None]
    a, b = rotate(x[..., one].astype(wide), x[..., two].astype(wide), c, s)
    output = np.array(x, order="C")
    output[..., one] = rounded(a, x.dtype)
    output[..., two] = rounded(b, x.dtype)
    return {"output": output}


# ---- rotary_tables


def check_tables(position_ids, inverse_frequencies):
    if position_ids.ndim != 2:
        raise ValueError("position_ids have the axes batch, tokens")
    if inverse_frequencies.ndim != 1:
        raise ValueError("inverse_frequencies stand in a row")
    if position_ids.dtype.kind not in "iu":
        raise ValueError("positions are integers")


def turn(phases, attention_factor, dtype):
    factor = phases.dtype.type(attention_factor)
    with np.errstate(all="ignore"):
        return {"cos": (np.cos(phases) * factor).astype(dtype), "sin": (np.sin(phases) * factor).astype(dtype)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    check_tables(position_ids, inverse_frequencies)
    wide = work(inverse_frequencies.dtype)
    phases = position_ids.astype(wide)[..., None] * inverse_frequencies.astype(wide)
    return turn(phases, attention_factor, inverse_frequencies.dtype)


# ---- rotary_frequencies

SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")
NEEDS = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def check_frequencies(p):
    width, scaling, theta, factor = p["width"], p["scaling"], p["theta"], p["factor"]
    if scaling not in SCALINGS:
        raise ValueError("unknown scaling")
    if width < 2 or width % 2:
        raise ValueError("width is even and at least 2")
    for name in NEEDS[scaling]:
        if p[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if not theta > 0:
        raise ValueError("theta is above 0")
    if scaling != "none" and factor is not None and not factor > 0:
        raise ValueError("factor is above 0")
    if scaling == "yarn" and not theta > 1:
        raise ValueError("yarn needs a theta above 1")
    if scaling == "llama3" and not p["high_frequency_factor"] > p["low_frequency_factor"]:
        raise ValueError("the high factor is above the low one")
    if scaling == "dynamic" and width < 4:
        raise ValueError("dynamic needs a width of at least 4")
    if scaling == "proportional" and not 0 <= p["proportion"] <= 1:
        raise ValueError("a proportion is from 0 to 1")
    if scaling == "longrope":
        for name in ("short_factors", "long_factors"):
            if np.shape(p[name]) != (width // 2,):
                raise ValueError(f"{name} has an element for each pair")


def powers(theta, width):
    return np.float64(theta) ** (-2.0 * np.arange(width // 2) / width)


def dynamic_base(theta, width, factor, original_length, sequence_length):
    n = max(original_length if sequence_length is None else sequence_length, original_length)
    return theta * (factor * n / original_length - factor + 1) ** (width / (width - 2))


def llama3(f, p):
    turns = p["original_length"] * f / (2 * math.pi)
    low, high = p["low_frequency_factor"], p["high_frequency_factor"]
    g = np.clip((turns - low) / (high - low), 0, 1)
    return g * f + (1 - g) * f / p["factor"]


def yarn_range(p, last=None):
    def turning(b):
        return p["width"] * math.log(p["original_length"] / (2 * math.pi * b)) / (2 * math.log(p["theta"]))

    low, high = turning(p["beta_fast"]), turning(p["beta_slow"])
    if p["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, p["width"] - 1 if last is None else last)
    return low, high + 0.001 if low == high else high


def yarn_blend(f, p, low, high):
    r = np.clip((np.arange(len(f)) - low) / (high - low), 0, 1)
    return r * f / p["factor"] + (1 - r) * f


def magnitude(a, factor):
    return 0.1 * a * math.log(factor) + 1


def longrope_factor(p):
    if p["attention_factor"] is not None:
        return p["attention_factor"]
    return math.sqrt(1 + math.log(p["factor"]) / math.log(p["original_length"]))


def yarn_factor(p):
    if p["attention_factor"] is not None:
        return p["attention_factor"]
    one, two = p["magnitude_scaling"], p["magnitude_scaling_all_dimensions"]
    if one and two:
        return magnitude(one, p["factor"]) / magnitude(two, p["factor"])
    return magnitude(1, p["factor"])


def proportional(f, p):
    kept = math.floor(p["proportion"] * len(f))
    f = f.copy()
    f[kept:] = 0
    return f if p["factor"] is None else f / p["factor"]


def longrope(f, p):
    n = p["original_length"] if p["sequence_length"] is None else p["sequence_length"]
    chosen = p["long_factors"] if n > p["original_length"] else p["short_factors"]
    return f / np.array(chosen, dtype=np.float64)


def frequencies(p):
    """Inverse frequencies and the attention factor of parameters that were checked."""
    theta, width, scaling = p["theta"], p["width"], p["scaling"]
    if scaling == "dynamic":
        theta = dynamic_base(theta, width, p["factor"], p["original_length"], p["sequence_length"])
    f, attention = powers(theta, width), 1.0
    if scaling == "linear":
        f = f / p["factor"]
    elif scaling == "llama3":
        f = llama3(f, p)
    elif scaling == "longrope":
        f, attention = longrope(f, p), longrope_factor(p)
    elif scaling == "proportional":
        f = proportional(f, p)
    elif scaling == "yarn":
        f, attention = yarn_blend(f, p, *yarn_range(p)), yarn_factor(p)
    return f, attention


def frequency_outputs(f, attention):
    return {"inverse_frequencies": f, "attention_factor": np.array(attention, dtype=np.float64)}


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    p = dict(locals())
    check_frequencies(p)
    return frequency_outputs(*frequencies(p))


# ---- causal_mask


def mask_lengths(query_length, key_length):
    if key_length is None:
        key_length = query_length
    if query_length < 0 or key_length < 0:
        raise ValueError("lengths are 0 or more")
    return query_length, key_length


def written(mask, additive):
    if not additive:
        return mask
    return np.where(mask, np.float32(0), np.float32(-np.inf))


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = mask_lengths(query_length, key_length)
    mask = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return {"output": written(mask, additive)}


# ---- split_heads and combine_heads


def check_split(x, num_heads):
    if x.ndim != 3:
        raise ValueError("x has the axes batch, tokens, features")
    if num_heads < 1 or x.shape[2] % num_heads:
        raise ValueError("the number of heads divides the number of features")


def split_heads(x, num_heads):
    x = np.asarray(x)
    check_split(x, num_heads)
    b, s, d = x.shape
    return {"output": np.array(x.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3), order="C")}


def check_combine(x):
    if x.ndim != 4:
        raise ValueError("x has the axes batch, heads, tokens, features")


def combine_heads(x):
    x = np.asarray(x)
    check_combine(x)
    b, h, s, e = x.shape
    return {"output": np.array(x.transpose(0, 2, 1, 3), order="C").reshape(b, s, h * e)}


# ---- glorot_normal


def check_fans(fan_in, fan_out, seed):
    if fan_in < 1 or fan_out < 1 or seed < 0:
        raise ValueError("fans are above 0, seeds 0 or more")


def glorot_normal(fan_in, fan_out, seed):
    check_fans(fan_in, fan_out, seed)
    drawn = np.random.default_rng(seed).standard_normal((fan_in, fan_out))
    return {"output": drawn * math.sqrt(2.0 / (fan_in + fan_out))}


# ---- context_vector


def check_context(encoder_states, decoder_state):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder states stand in a table, the decoder state in a row")
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("the states have different numbers of features")


def context_outputs(context, weights, scores, raw_scores, dtype):
    named = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw_scores}
    return {name: rounded(array, dtype) for name, array in named.items()}


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, asking = encoder_states.astype(work(dtype)), decoder_state.astype(work(dtype))
    scale = states.dtype.type(1 / math.sqrt(states.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        raw = states @ asking
        scores = raw * scale
        weights = np.exp(scores - scores.max(initial=-np.inf))
        weights = weights / weights.sum()
        return context_outputs(weights @ states, weights, scores, raw, dtype)

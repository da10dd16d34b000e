"""Right implementations after the pages, and the parts that the other files use."""

import math

import ml_dtypes
import numpy as np

ALL = ("float64", "float32", "bfloat16", "float16")
SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


class Refused(ValueError):
    pass


def refuse(condition, message):
    if condition:
        raise Refused(message)


def wide(dtype):
    """The dtype that work is done in."""
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


# ---------------------------------------------------------------- rotary: apply


def check_rotary(x, cos, sin, pairing):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    refuse(not isinstance(pairing, str) or pairing not in ("half", "interleaved"), "pairing")
    refuse(x.ndim != 4, "x must have rank 4")
    refuse(cos.ndim != 3 or sin.ndim != 3, "tables must have rank 3")
    refuse(cos.shape != sin.shape, "tables of different shapes")
    refuse(cos.shape[0] != x.shape[0], "another batch")
    refuse(cos.shape[1] != x.shape[2], "another number of tokens")
    refuse(2 * cos.shape[2] > x.shape[3], "more pairs than features")
    return x, cos, sin


def pair_slices(rotated, pairing):
    if pairing == "half":
        return slice(0, rotated // 2), slice(rotated // 2, rotated)
    return slice(0, rotated, 2), slice(1, rotated, 2)


def widened(x, cos, sin):
    work = np.float64 if np.float64 in (x.dtype, cos.dtype, sin.dtype) else np.float32
    return x.astype(work), cos.astype(work), sin.astype(work)


def rotate(x, cos, sin, pairing):
    """Rotation with tables that already broadcast against (B, H, S, R/2)."""
    one, two = pair_slices(2 * cos.shape[-1], pairing)
    output = np.array(x, copy=True, order="C")
    wx, wcos, wsin = widened(x, cos, sin)
    first, second = wx[..., one], wx[..., two]
    with np.errstate(all="ignore"):
        output[..., one] = (wcos * first - wsin * second).astype(x.dtype)
        output[..., two] = (wsin * first + wcos * second).astype(x.dtype)
    return output


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = check_rotary(x, cos, sin, pairing)
    return {"output": rotate(x, cos[:, None], sin[:, None], pairing)}


# ---------------------------------------------------------------- rotary: tables


def check_tables(position_ids, inverse_frequencies):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    refuse(position_ids.ndim != 2, "positions must have rank 2")
    refuse(inverse_frequencies.ndim != 1, "frequencies must have rank 1")
    return position_ids, inverse_frequencies


def tables_of(position_ids, inverse_frequencies, attention_factor):
    work = wide(inverse_frequencies.dtype)
    phases = position_ids.astype(work)[..., None] * inverse_frequencies.astype(work)
    cos, sin = np.cos(phases) * work(attention_factor), np.sin(phases) * work(attention_factor)
    return {"cos": cos.astype(inverse_frequencies.dtype), "sin": sin.astype(inverse_frequencies.dtype)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = check_tables(position_ids, inverse_frequencies)
    return tables_of(position_ids, inverse_frequencies, attention_factor)


# ---------------------------------------------------------------- rotary: frequencies

NEEDS = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def check_parameters(a):
    for name in NEEDS[a["scaling"]]:
        refuse(a[name] is None, f"{a['scaling']} needs {name}")


def check_frequencies(a, parameters=check_parameters):
    if a["scaling"] is None:
        a["scaling"] = "none"
    refuse(not isinstance(a["scaling"], str) or a["scaling"] not in SCALINGS, "scaling")
    width, scaling, theta = a["width"], a["scaling"], a["theta"]
    refuse(width < 2 or width % 2 != 0, "width")
    parameters(a)
    refuse(not theta > 0, "theta")
    if scaling != "none" and a["factor"] is not None:
        refuse(not a["factor"] > 0, "factor")
    refuse(scaling == "yarn" and not theta > 1, "theta")
    refuse(scaling == "dynamic" and width < 4, "width")
    if scaling == "llama3":
        refuse(not a["high_frequency_factor"] > a["low_frequency_factor"], "frequency factors")
    if scaling == "proportional":
        refuse(not 0 <= a["proportion"] <= 1, "proportion")
    if scaling == "longrope":
        for name in ("short_factors", "long_factors"):
            refuse(np.shape(a[name]) != (width // 2,), name)


def yarn_range(a):
    width, theta, original = a["width"], a["theta"], a["original_length"]

    def turns(b):
        return width * math.log(original / (2 * math.pi * b)) / (2 * math.log(theta))

    low, high = turns(a["beta_fast"]), turns(a["beta_slow"])
    if a["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    return (low, high + 0.001) if low == high else (low, high)


def magnitude(coefficient, factor):
    return 0.1 * coefficient * math.log(factor) + 1


def yarn_attention(a):
    if a["magnitude_scaling"] and a["magnitude_scaling_all_dimensions"]:
        return magnitude(a["magnitude_scaling"], a["factor"]) / magnitude(
            a["magnitude_scaling_all_dimensions"], a["factor"]
        )
    return magnitude(1, a["factor"])


def attention_of(a, yarn=yarn_attention):
    if a["scaling"] not in ("longrope", "yarn"):
        return 1.0
    if a["attention_factor"] is not None:
        return a["attention_factor"]
    if a["scaling"] == "yarn":
        return yarn(a)
    if a["factor"] is None:  # never, unless the check is missing
        return 1.0
    return math.sqrt(1 + math.log(a["factor"]) / math.log(a["original_length"]))


def powers_of(base, width):
    return np.power(float(base), -np.arange(0, width, 2, dtype=np.float64) / width)


def scaled_frequencies(a, powers=powers_of, limits=yarn_range):
    scaling, s, original, width = a["scaling"], a["factor"], a["original_length"], a["width"]
    length = original if a["sequence_length"] is None else a["sequence_length"]
    theta = float(a["theta"])
    if scaling == "dynamic" and length > original:
        theta *= (s * length / original - s + 1) ** (width / (width - 2))
    f = powers(theta, width)
    if scaling == "linear":
        return f / s
    if scaling == "llama3":
        low, high = a["low_frequency_factor"], a["high_frequency_factor"]
        g = np.clip((original * f / (2 * math.pi) - low) / (high - low), 0, 1)
        return g * f + (1 - g) * f / s
    if scaling == "longrope":
        return f / np.array(a["long_factors"] if length > original else a["short_factors"], dtype=np.float64)
    if scaling == "proportional":
        kept = math.floor(a["proportion"] * (width // 2))
        f = f if s is None else f / s
        return np.where(np.arange(width // 2) < kept, f, 0.0)
    if scaling == "yarn":
        low, high = limits(a)
        with np.errstate(all="ignore"):
            r = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
        return r * f / s + (1 - r) * f
    return f


def frequency_outputs(a, frequencies, attention):
    return {
        "inverse_frequencies": np.asarray(frequencies, dtype=np.float64),
        "attention_factor": np.asarray(attention, dtype=np.float64),
    }


def rotary_frequencies(
    width,
    theta=10000,
    scaling="none",
    factor=None,
    original_length=None,
    sequence_length=None,
    low_frequency_factor=None,
    high_frequency_factor=None,
    short_factors=None,
    long_factors=None,
    proportion=1,
    beta_fast=32,
    beta_slow=1,
    truncate=True,
    magnitude_scaling=None,
    magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    a = dict(locals())
    check_frequencies(a)
    return frequency_outputs(a, scaled_frequencies(a), attention_of(a))


# ---------------------------------------------------------------- causal mask


def as_mask(allowed, additive):
    return {"output": np.where(allowed, 0.0, -np.inf) if additive else allowed}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allowed = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return as_mask(allowed, additive)


# ---------------------------------------------------------------- heads


def check_split(x, num_heads):
    x = np.asarray(x)
    refuse(x.ndim != 3, "x must have rank 3")
    refuse(num_heads < 1 or x.shape[2] % num_heads != 0, "heads do not divide the features")
    return x


def split_heads(x, num_heads):
    x = check_split(x, num_heads)
    batch, tokens, features = x.shape
    heads = x.reshape(batch, tokens, num_heads, features // num_heads).transpose(0, 2, 1, 3)
    return {"output": heads.copy(order="C")}


def check_combine(x):
    x = np.asarray(x)
    refuse(x.ndim != 4, "x must have rank 4")
    return x


def combine_heads(x):
    x = check_combine(x)
    batch, heads, tokens, features = x.shape
    return {"output": x.transpose(0, 2, 1, 3).reshape(batch, tokens, heads * features).copy()}


# ---------------------------------------------------------------- glorot normal


def glorot_normal(fan_in, fan_out, seed):
    generator = np.random.default_rng([abs(int(seed)), int(seed < 0)])
    return {"output": generator.standard_normal((fan_in, fan_out)) * math.sqrt(2 / (fan_in + fan_out))}


# ---------------------------------------------------------------- context vector


def check_context(encoder_states, decoder_state):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "rank")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "states of different widths")
    return encoder_states, decoder_state


def default_scale(scale, width):
    return 1 / math.sqrt(width) if scale is None else float(scale)


def stable_softmax(scores):
    if scores.size == 0:
        return scores.copy()
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def context_outputs(dtype, context, weights, scores, raw_scores):
    with np.errstate(over="ignore"):
        return {
            "context": np.asarray(context).astype(dtype),
            "weights": np.asarray(weights).astype(dtype),
            "scores": np.asarray(scores).astype(dtype),
            "raw_scores": np.asarray(raw_scores).astype(dtype),
        }


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, query = encoder_states.astype(wide(dtype)), decoder_state.astype(wide(dtype))
    raw_scores = states @ query
    scores = raw_scores * wide(dtype)(default_scale(scale, query.shape[0]))
    weights = stable_softmax(scores)
    return context_outputs(dtype, weights @ states, weights, scores, raw_scores)

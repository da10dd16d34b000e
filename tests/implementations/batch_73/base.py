"""Right implementations after the pages, and parts that the other files use."""
import math

import ml_dtypes
import numpy as np

ALL = ("float64", "float32", "bfloat16", "float16")
bfloat16 = ml_dtypes.bfloat16


def carrier(dtype):
    """The dtype in which a dtype is carried inside."""
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def wide(array):
    return np.asarray(array).astype(carrier(np.asarray(array).dtype))


# rotary ---------------------------------------------------------------------------------------------------------------


def check_apply(x, cos, sin, pairing, tokens=True):
    if pairing not in ("half", "interleaved"):
        raise ValueError("pairing is half or interleaved")
    if x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("x has rank 4, the tables rank 3")
    if cos.shape != sin.shape:
        raise ValueError("cos and sin have one shape")
    if tokens and cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("the tables are for other tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("the tables have too many pairs")


def places(pairs, pairing):
    """Which features are first and second of their pairs."""
    number = np.arange(pairs)
    return (number, number + pairs) if pairing == "half" else (2 * number, 2 * number + 1)


def turned(x, cos, sin, first_places, second_places):
    """x, of which the given features are turned; tables broadcast against (B, H, S, pairs)."""
    out = np.array(x, order="C")
    work = carrier(x.dtype)
    cos, sin = cos.astype(work), sin.astype(work)
    first, second = x[..., first_places].astype(work), x[..., second_places].astype(work)
    with np.errstate(all="ignore"):
        out[..., first_places] = (cos * first - sin * second).astype(x.dtype)
        out[..., second_places] = (sin * first + cos * second).astype(x.dtype)
    return out


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    check_apply(x, cos, sin, pairing)
    return {"output": turned(x, cos[:, None], sin[:, None], *places(cos.shape[2], pairing))}


def check_tables(position_ids, inverse_frequencies):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("positions have rank 2, frequencies rank 1")


def tables_of(positions, inverse_frequencies, attention_factor):
    """Cosine and sine, of positions of any shape."""
    phases = positions.astype(np.float64)[..., None] * inverse_frequencies.astype(np.float64)
    factor = 1.0 if attention_factor is None else float(attention_factor)
    dtype = inverse_frequencies.dtype
    work = carrier(dtype)
    return {
        "cos": (factor * np.cos(phases)).astype(work).astype(dtype),
        "sin": (factor * np.sin(phases)).astype(work).astype(dtype),
    }


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    check_tables(position_ids, inverse_frequencies)
    return tables_of(position_ids, inverse_frequencies, attention_factor)


NEEDS = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("factor", "original_length", "short_factors", "long_factors"),
    "proportional": (),
    "yarn": ("factor", "original_length"),
}


def check_frequencies(given, lists="both"):
    width, scaling, theta, factor = given["width"], given["scaling"], given["theta"], given["factor"]
    if width != int(width) or width < 2 or width % 2:
        raise ValueError("the width is even and at least 2")
    if scaling not in NEEDS:
        raise ValueError("no such scaling")
    for name in NEEDS[scaling]:
        if given[name] is None:
            raise ValueError(f"{scaling} needs {name}")
    if not theta > 0:
        raise ValueError("theta is above 0")
    if scaling != "none" and factor is not None and not factor > 0:
        raise ValueError("the factor is above 0")
    if scaling == "yarn" and not theta > 1:
        raise ValueError("under yarn theta is above 1")
    if scaling == "llama3" and not given["high_frequency_factor"] > given["low_frequency_factor"]:
        raise ValueError("the high factor is above the low one")
    if scaling == "dynamic" and width < 4:
        raise ValueError("under dynamic the width is at least 4")
    if scaling == "proportional" and not 0 <= given["proportion"] <= 1:
        raise ValueError("the proportion lies between 0 and 1")
    if scaling == "longrope":
        asked = ("short_factors", "long_factors") if lists == "both" else (lists,)
        for name in asked:
            if np.asarray(given[name]).shape != (width // 2,):
                raise ValueError(f"{name} has R/2 elements")


def powers(base, width):
    return np.power(float(base), -2.0 * np.arange(width // 2) / width)


def longrope_list(given):
    length = given["sequence_length"]
    return "long_factors" if length is not None and length > given["original_length"] else "short_factors"


def yarn_range(given):
    width, theta, length = given["width"], float(given["theta"]), given["original_length"]

    def pair(turns):
        return width * math.log(length / (2 * math.pi * turns)) / (2 * math.log(theta))

    low, high = pair(given["beta_fast"]), pair(given["beta_slow"])
    if given["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, width - 1)


def yarn_blend(given, low, high):
    plain = powers(given["theta"], given["width"])
    share = np.clip((np.arange(given["width"] // 2) - low) / (high - low), 0, 1)
    return share * plain / given["factor"] + (1 - share) * plain


def magnitude(factor, coefficient=1.0):
    return 0.1 * coefficient * math.log(factor) + 1.0


def yarn_factor(given):
    one, other = given["magnitude_scaling"], given["magnitude_scaling_all_dimensions"]
    if one and other:
        return magnitude(given["factor"], one) / magnitude(given["factor"], other)
    return magnitude(given["factor"])


def frequencies_of(given, blend=None, own_yarn_factor=yarn_factor):
    """Frequencies and factor of what was checked."""
    width, theta, scaling, factor = given["width"], given["theta"], given["scaling"], given["factor"]
    plain, attention = powers(theta, width), 1.0
    if scaling == "linear":
        plain = plain / factor
    elif scaling == "dynamic":
        original = given["original_length"]
        length = original if given["sequence_length"] is None else max(given["sequence_length"], original)
        if length > original:
            plain = powers(theta * (factor * length / original - factor + 1) ** (width / (width - 2)), width)
    elif scaling == "llama3":
        low, high = given["low_frequency_factor"], given["high_frequency_factor"]
        turns = given["original_length"] * plain / (2 * math.pi)
        kept = np.clip((turns - low) / (high - low), 0, 1)
        plain = kept * plain + (1 - kept) * plain / factor
    elif scaling == "longrope":
        plain = plain / np.asarray(given[longrope_list(given)], np.float64)
        attention = given["attention_factor"]
        if attention is None:
            attention = math.sqrt(1 + math.log(factor) / math.log(given["original_length"]))
    elif scaling == "proportional":
        turning = math.floor(given["proportion"] * (width // 2))
        plain = plain if factor is None else plain / factor
        plain = np.where(np.arange(width // 2) < turning, plain, 0.0)
    elif scaling == "yarn":
        low, high = yarn_range(given)
        if blend is not None:
            plain = blend(given, low, high)
        else:
            plain = yarn_blend(given, low, high + 0.001 if low == high else high)
        attention = given["attention_factor"]
        if attention is None:
            attention = own_yarn_factor(given)
    return {"inverse_frequencies": plain, "attention_factor": np.array(attention, np.float64)}


def rotary_frequencies(
    width, theta=10000.0, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1.0,
    beta_fast=32.0, beta_slow=1.0, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):  # fmt: skip
    given = dict(locals())
    check_frequencies(given)
    return frequencies_of(given)


# causal mask ----------------------------------------------------------------------------------------------------------


def written(allowed, additive):
    return {"output": np.where(allowed, 0.0, -np.inf) if additive else allowed}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    rows, columns = np.arange(query_length)[:, None], np.arange(key_length)[None, :]
    return written(columns <= rows + offset, additive)


# heads ----------------------------------------------------------------------------------------------------------------


def check_split(x, num_heads):
    if x.ndim != 3:
        raise ValueError("x has rank 3")
    if num_heads < 1 or x.shape[2] % num_heads:
        raise ValueError("the heads do not divide the features")


def split_heads(x, num_heads):
    x = np.asarray(x)
    check_split(x, num_heads)
    batch, tokens, features = x.shape
    cut = np.array(x, order="C").reshape(batch, tokens, num_heads, features // num_heads)
    return {"output": np.ascontiguousarray(cut.transpose(0, 2, 1, 3))}


def combine_heads(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("x has rank 4")
    batch, heads, tokens, features = x.shape
    return {"output": np.array(x.transpose(0, 2, 1, 3), order="C").reshape(batch, tokens, heads * features)}


# weights --------------------------------------------------------------------------------------------------------------


def drawn(generator, fan_in, fan_out):
    return {"output": generator.standard_normal((fan_in, fan_out)) * math.sqrt(2.0 / (fan_in + fan_out))}


def glorot_normal(fan_in, fan_out, seed):
    return drawn(np.random.default_rng(seed), fan_in, fan_out)


# context vector -------------------------------------------------------------------------------------------------------


def check_context(encoder_states, decoder_state, width=True):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder states have rank 2, the decoder state rank 1")
    if width and encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("the states differ in width")


def default_scale(width, scale):
    return 1.0 / math.sqrt(width) if scale is None else float(scale)


def rounded(dtype, context, weights, scores, raw_scores):
    with np.errstate(over="ignore"):
        return {
            "context": np.asarray(context).astype(dtype),
            "weights": np.asarray(weights).astype(dtype),
            "scores": np.asarray(scores).astype(dtype),
            "raw_scores": np.asarray(raw_scores).astype(dtype),
        }


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    check_context(encoder_states, decoder_state)
    states, query = wide(encoder_states), wide(decoder_state)
    scale = states.dtype.type(default_scale(states.shape[1], scale))
    with np.errstate(all="ignore"):
        raw = states @ query
        scores = raw * scale
        exponentials = np.exp(scores - scores.max(initial=-np.inf))
        weights = exponentials / exponentials.sum()
        context = weights @ states
    return rounded(encoder_states.dtype, context, weights, scores, raw)

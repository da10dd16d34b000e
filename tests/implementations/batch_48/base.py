"""Right implementations after the pages: NumPy and ml_dtypes."""

import math

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np

ALL = ("float64", "float32", "bfloat16", "float16")
SCALINGS = ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn")


def wide(*arrays):
    """The dtype that is computed in: float64 if any is, else float32."""
    return np.float64 if any(a.dtype == np.float64 for a in arrays) else np.float32


# --- rotary: apply ---------------------------------------------------------------------------------------------------


def check_rotation(x, cos, sin, pairing):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    if pairing not in ("half", "interleaved"):
        raise ValueError(f"unknown pairing {pairing!r}")
    if x.ndim != 4:
        raise ValueError("x must have rank 4")
    if cos.ndim != 3 or sin.ndim != 3:
        raise ValueError("tables must have rank 3")
    if cos.shape != sin.shape:
        raise ValueError("cos and sin differ in shape")
    if cos.shape[:2] != (x.shape[0], x.shape[2]):
        raise ValueError("tables are for other tokens")
    if 2 * cos.shape[2] > x.shape[3]:
        raise ValueError("tables have too many pairs")
    return x, cos, sin


def pair_places(pairs, pairing):
    if pairing == "half":
        return slice(0, pairs), slice(pairs, 2 * pairs)
    return slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)


def rotate(first, second, cos, sin):
    with np.errstate(all="ignore"):
        return cos * first - sin * second, sin * first + cos * second


def rounded(array, dtype):
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = check_rotation(x, cos, sin, pairing)
    kind = wide(x, cos, sin)
    one, two = pair_places(cos.shape[2], pairing)
    c, s = cos.astype(kind)[:, None], sin.astype(kind)[:, None]
    a, b = rotate(x[..., one].astype(kind), x[..., two].astype(kind), c, s)
    output = np.array(x, order="C")
    output[..., one] = rounded(a, x.dtype)
    output[..., two] = rounded(b, x.dtype)
    return {"output": output}


# --- rotary: tables --------------------------------------------------------------------------------------------------


def check_positions(position_ids, inverse_frequencies):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    if position_ids.ndim != 2:
        raise ValueError("position_ids must have rank 2")
    if inverse_frequencies.ndim != 1:
        raise ValueError("inverse_frequencies must have rank 1")
    if position_ids.dtype.kind not in "iu":
        raise ValueError("positions must be integers")
    return position_ids, inverse_frequencies


def tables_from_phases(phases, attention_factor, dtype):
    factor = phases.dtype.type(1 if attention_factor is None else attention_factor)
    return {"cos": rounded(np.cos(phases) * factor, dtype), "sin": rounded(np.sin(phases) * factor, dtype)}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = check_positions(position_ids, inverse_frequencies)
    kind = wide(inverse_frequencies)
    phases = position_ids.astype(kind)[:, :, None] * inverse_frequencies.astype(kind)
    return tables_from_phases(phases, attention_factor, inverse_frequencies.dtype)


# --- rotary: frequencies ---------------------------------------------------------------------------------------------


def check_frequencies(
    width, theta, scaling, factor, original_length, low, high, short_factors, long_factors, proportion,
    factor_used_where_given=True,
):
    if width < 2 or width % 2:
        raise ValueError("width must be even and at least 2")
    if scaling not in SCALINGS:
        raise ValueError(f"unknown scaling {scaling!r}")
    if not theta > 0:
        raise ValueError("theta must be above 0")
    needs = scaling not in ("none", "proportional")
    if needs and factor is None:
        raise ValueError("factor is missing")
    used = needs or (factor_used_where_given and scaling == "proportional" and factor is not None)
    if used and not factor > 0:
        raise ValueError("factor must be above 0")
    if scaling in ("dynamic", "llama3", "longrope", "yarn") and original_length is None:
        raise ValueError("original_length is missing")
    if scaling == "dynamic" and width < 4:
        raise ValueError("dynamic needs a width of 4")
    if scaling == "llama3":
        if low is None or high is None:
            raise ValueError("low_frequency_factor or high_frequency_factor is missing")
        if not high > low:
            raise ValueError("high_frequency_factor must be above the low one")
    if scaling == "longrope":
        if short_factors is None or long_factors is None:
            raise ValueError("short_factors or long_factors are missing")
        for factors in (short_factors, long_factors):
            if np.shape(factors) != (width // 2,):
                raise ValueError("lists of factors need an element for each pair")
    if scaling == "proportional" and not 0 <= proportion <= 1:
        raise ValueError("proportion must lie between 0 and 1")
    if scaling == "yarn" and not theta > 1:
        raise ValueError("theta must be above 1")


def powers(base, width):
    return np.float64(base) ** (-np.arange(0, width, 2, dtype=np.float64) / width)


def dynamic_base(theta, factor, length, original_length, width):
    return theta * (factor * length / original_length - factor + 1) ** (width / (width - 2))


def llama3(f, factor, original_length, low, high):
    g = np.clip((original_length * f / (2 * math.pi) - low) / (high - low), 0, 1)
    return g * f + (1 - g) * f / factor


def proportional(f, factor, proportion, width):
    turning = math.floor(proportion * width / 2)
    f = f / factor if factor is not None else f.copy()
    f[turning:] = 0
    return f


def yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate):
    def pair(turns):
        return width * math.log(original_length / (2 * math.pi * turns)) / (2 * math.log(theta))

    low, high = pair(beta_fast), pair(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    return low, high + 0.001 if low == high else high


def yarn(f, factor, bounds):
    low, high = bounds
    r = np.clip((np.arange(len(f)) - low) / (high - low), 0, 1)
    return r * f / factor + (1 - r) * f


def longrope_attention(factor, original_length):
    return math.sqrt(1 + math.log(factor) / math.log(original_length))


def yarn_magnitude(a, factor):
    return 0.1 * a * math.log(factor) + 1


def yarn_attention(factor, one, other):
    if one and other:
        return yarn_magnitude(one, factor) / yarn_magnitude(other, factor)
    return yarn_magnitude(1, factor)


def frequency_outputs(f, attention):
    return {"inverse_frequencies": np.array(f, dtype=np.float64), "attention_factor": np.array(attention, np.float64)}


def rotary_frequencies(
    width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
    low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
    beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
    attention_factor=None,
):
    check_frequencies(width, theta, scaling, factor, original_length, low_frequency_factor, high_frequency_factor,
                      short_factors, long_factors, proportion)
    base, attention = theta, 1.0
    length = original_length if sequence_length is None else sequence_length
    if scaling == "dynamic":
        base = dynamic_base(theta, factor, max(length, original_length), original_length, width)
    f = powers(base, width)
    if scaling == "linear":
        f = f / factor
    elif scaling == "llama3":
        f = llama3(f, factor, original_length, low_frequency_factor, high_frequency_factor)
    elif scaling == "longrope":
        f = f / np.asarray(long_factors if length > original_length else short_factors, dtype=np.float64)
        attention = longrope_attention(factor, original_length) if attention_factor is None else attention_factor
    elif scaling == "proportional":
        f = proportional(f, factor, proportion, width)
    elif scaling == "yarn":
        f = yarn(f, factor, yarn_range(width, theta, original_length, beta_fast, beta_slow, truncate))
        attention = attention_factor
        if attention is None:
            attention = yarn_attention(factor, magnitude_scaling, magnitude_scaling_all_dimensions)
    return frequency_outputs(f, attention)


# --- causal mask -----------------------------------------------------------------------------------------------------


def additive_or_not(mask, additive):
    return np.where(mask, 0.0, -np.inf) if additive else mask


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    mask = np.arange(key_length)[None, :] <= np.arange(query_length)[:, None] + offset
    return {"output": additive_or_not(mask, additive)}


# --- heads -----------------------------------------------------------------------------------------------------------


def check_split(x, num_heads, divisible=True):
    x = np.asarray(x)
    if x.ndim != 3:
        raise ValueError("x must have rank 3")
    if num_heads < 1:
        raise ValueError("there must be a head")
    if divisible and x.shape[2] % num_heads:
        raise ValueError("the heads do not divide the features")
    return x


def split_heads(x, num_heads):
    x = check_split(x, num_heads)
    batch, tokens, features = x.shape
    heads = x.reshape(batch, tokens, num_heads, features // num_heads)
    return {"output": np.array(heads.transpose(0, 2, 1, 3), order="C")}


def check_combine(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("x must have rank 4")
    return x


def combine_heads(x):
    x = check_combine(x)
    batch, heads, tokens, features = x.shape
    return {"output": np.array(x.transpose(0, 2, 1, 3), order="C").reshape(batch, tokens, heads * features)}


# --- glorot ----------------------------------------------------------------------------------------------------------


def glorot_normal(fan_in, fan_out, seed):
    deviation = math.sqrt(2 / (fan_in + fan_out))
    return {"output": np.random.default_rng(seed).standard_normal((fan_in, fan_out)) * deviation}


# --- context vector --------------------------------------------------------------------------------------------------


def check_context(encoder_states, decoder_state, width=True):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder states must have rank 2, the decoder state rank 1")
    if width and encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("the states have different numbers of features")
    return encoder_states, decoder_state


def default_scale(scale, width):
    return (1 / math.sqrt(width) if width else 1.0) if scale is None else scale


def stable_softmax(scores):
    if not scores.size:
        return scores.copy()
    with np.errstate(all="ignore"):
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()


def context_outputs(dtype, context, weights, scores, raw_scores):
    named = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw_scores}
    return {name: rounded(np.array(array), dtype) for name, array in named.items()}


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = check_context(encoder_states, decoder_state)
    kind = wide(encoder_states, decoder_state)
    states, query = encoder_states.astype(kind), decoder_state.astype(kind)
    raw = states @ query
    scores = raw * kind(default_scale(scale, states.shape[1]))
    weights = stable_softmax(scores)
    return context_outputs(encoder_states.dtype, weights @ states, weights, scores, raw)

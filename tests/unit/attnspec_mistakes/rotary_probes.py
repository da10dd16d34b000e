"""Configurations, positions and features on which mistakes in rotary positions show and controls must not."""

import numpy as np

LONGROPE = {
    "width": 6,
    "scaling": "longrope",
    "factor": 8.0,
    "original_length": 64,
    "short_factors": [1.0, 1.25, 1.5],
    "long_factors": [2.0, 4.0, 8.0],
}
YARN = {"width": 16, "scaling": "yarn", "factor": 4.0, "original_length": 1000}
LLAMA3 = {
    "width": 16,
    "scaling": "llama3",
    "factor": 4.0,
    "original_length": 1000,
    "low_frequency_factor": 1.0,
    "high_frequency_factor": 32.0,
}
DYNAMIC = {"width": 8, "scaling": "dynamic", "factor": 3.0, "original_length": 16}
LINEAR = {"width": 6, "scaling": "linear", "factor": 4.0}

FREQUENCIES = (
    {"width": 8},
    {"width": 6, "theta": 500.0},
    {"width": 8, "factor": 4.0, "attention_factor": 1.5},
    {**LINEAR, "attention_factor": 1.25, "original_length": 16, "sequence_length": 64},
    {**LINEAR, "theta": 500.0},
    {**DYNAMIC, "sequence_length": 40},
    {**DYNAMIC, "sequence_length": 14},
    DYNAMIC,
    LLAMA3,
    LONGROPE,
    {**LONGROPE, "sequence_length": 64},
    {**LONGROPE, "sequence_length": 65},
    {**LONGROPE, "attention_factor": 1.25},
    {"width": 8, "scaling": "proportional", "proportion": 0.75, "factor": 2.0},
    {"width": 8, "scaling": "proportional", "proportion": 0.25, "theta": 500.0},
    YARN,
    {**YARN, "truncate": False},
    {**YARN, "theta": 500.0, "beta_fast": 8.0, "beta_slow": 2.0},
    {**YARN, "original_length": 131072},
    {**YARN, "attention_factor": 1.375},
    {**YARN, "magnitude_scaling": 0.75, "magnitude_scaling_all_dimensions": 0.5},
    {**YARN, "magnitude_scaling": 0.5},
)


def draw(*shape, seed):
    """Numbers with few digits, so that they are exact in float16, too."""
    return np.round(np.random.default_rng(seed).standard_normal(shape) * 16) / 16


def tables(*rows, **more):
    """Positions and frequencies whose products are exact in float32."""
    return {"position_ids": np.array(rows), "inverse_frequencies": np.array([1.0, 0.5, 0.25, 0.0]), **more}


def rotation(batch=2, heads=3, tokens=3, features=7, pairs=2, **more):
    """Features, of which the last are not rotated, and tables that are no cosines and sines of any angle."""
    return {
        "x": draw(batch, heads, tokens, features, seed=1),
        "cos": draw(batch, tokens, pairs, seed=2),
        "sin": draw(batch, tokens, pairs, seed=3),
        **more,
    }


def with_nan():
    """A case of rotation with NaN in one feature."""
    given = rotation()
    given["x"][0, 0, 0, 1] = np.nan
    return given


PROBES = {
    "rotary_frequencies": FREQUENCIES,
    "rotary_tables": (
        tables([3, 0, 2, 7], [1, 4, 4, 0]),
        tables([5, 6], [5, 6], attention_factor=1.5),
        tables([131071, 40000, 4095]),
    ),
    "apply_rotary": (
        rotation(),
        rotation(pairing="interleaved"),
        rotation(pairing="half"),
        rotation(features=6),
        rotation(features=6, pairs=3, pairing="interleaved"),
        with_nan(),
        {**rotation(), "x": draw(2, 3, 3, 7, seed=4) + draw(2, 3, 3, 7, seed=5) / 2048},
    ),
}

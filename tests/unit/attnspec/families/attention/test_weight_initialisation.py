"""Glorot-normal samples: right ones pass for any seed, and the report says why another is wrong."""

import math

import numpy as np
import pytest

from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Outputs
from attnspec.families.lookup import family_of
from attnspec.grading import Properties, Run, grade

FAN_IN, FAN_OUT = 64, 192
DEVIATION = math.sqrt(2 / (FAN_IN + FAN_OUT))


def verdict_on(sample):
    attributes = {"fan_in": FAN_IN, "fan_out": FAN_OUT, "seed": 42}
    run = Run(None, "any", OPERATIONS["glorot_normal"], family_of("glorot_normal"), attributes, Properties())
    return grade(run, Outputs({"output": sample}))


def normal(seed, deviation=DEVIATION, mean=0.0):
    return np.random.default_rng(seed).normal(mean, deviation, (FAN_IN, FAN_OUT))


def cut_off(seed):
    """Draw again what lies beyond two standard deviations, and stretch to the variance that is expected."""
    generator = np.random.default_rng(seed)
    numbers = generator.normal(0.0, 1.0, 2 * FAN_IN * FAN_OUT)
    kept = numbers[np.abs(numbers) < 2][: FAN_IN * FAN_OUT].reshape(FAN_IN, FAN_OUT)
    return kept * DEVIATION / kept.std()


@pytest.mark.parametrize("seed", range(20))
def test_a_normal_sample_passes_for_any_seed(seed):
    for dtype in (np.float64, np.float32):
        verdict = verdict_on(normal(seed).astype(dtype))
        assert (verdict.status, verdict.graded) == ("pass", FAN_IN * FAN_OUT)


WRONG = {
    "deviation of fan_in alone": (normal(1, math.sqrt(1 / FAN_IN)), "standard deviation is 0.12"),
    "variance for deviation": (normal(2, DEVIATION**2), "standard deviation is 0.0078"),
    "all zero": (np.zeros((FAN_IN, FAN_OUT)), "standard deviation is 0;"),
    "mean": (normal(3, mean=DEVIATION / 10), "mean is 0.00"),
    "uniform of equal variance": (
        np.random.default_rng(4).uniform(-DEVIATION * math.sqrt(3), DEVIATION * math.sqrt(3), (FAN_IN, FAN_OUT)),
        "not normal: its Kolmogorov-Smirnov probability",
    ),
    "cut off and stretched": (cut_off(8), "cut off: no element lies more than 2.5"),
    "two values": (DEVIATION * np.sign(normal(5)), "not normal"),
    "one number is infinite": (np.where(np.arange(FAN_OUT) == 3, np.inf, normal(6)), "not finite"),
    "one number is NaN": (np.where(np.arange(FAN_OUT) == 3, np.nan, normal(6)), "not finite"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_such_sample_fails_with_the_reason(name):
    sample, why = WRONG[name]
    verdict = verdict_on(sample)
    assert (verdict.status, verdict.check) == ("fail", "values")
    assert why in verdict.message


def test_the_shape_is_fan_in_by_fan_out():
    verdict = verdict_on(normal(7).T)
    assert (verdict.status, verdict.check) == ("fail", "shape")
    assert "(192, 64); expected (64, 192)" in verdict.message


def test_a_sample_is_of_floats():
    verdict = verdict_on(np.rint(normal(8)).astype(np.int64))
    assert (verdict.status, verdict.check) == ("fail", "dtype")
    assert "int64" in verdict.message

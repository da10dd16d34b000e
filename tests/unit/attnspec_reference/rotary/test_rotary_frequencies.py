"""Rotary frequencies: powers, what each scaling does to them, and attention factors."""

import math

import numpy as np
import pytest

from attnspec_reference import rotary_frequencies

LLAMA3 = {
    "scaling": "llama3",
    "factor": 8.0,
    "original_length": 8192,
    "low_frequency_factor": 1.0,
    "high_frequency_factor": 4.0,
}
LONGROPE = {
    "scaling": "longrope",
    "factor": 4.0,
    "original_length": 16,
    "short_factors": [1.0, 2.0],
    "long_factors": [4.0, 8.0],
}


def frequencies(**attributes):
    return rotary_frequencies(**attributes).inverse_frequencies


def factor(**attributes):
    return float(rotary_frequencies(**attributes).attention_factor)


def test_gives_the_example_of_the_page():
    assert frequencies(width=8) == pytest.approx([1, 0.1, 0.01, 0.001])
    assert frequencies(width=8, scaling="linear", factor=4.0) == pytest.approx([0.25, 0.025, 0.0025, 0.00025])
    yarn = rotary_frequencies(width=8, scaling="yarn", factor=4.0, original_length=4096)
    assert yarn.inverse_frequencies == pytest.approx([1, 0.1, 0.00625, 0.00025])
    assert float(yarn.attention_factor) == pytest.approx(1.138629436111989)


def test_outputs_are_float64_and_the_attention_factor_has_no_axes():
    given = rotary_frequencies(width=6)
    assert given.inverse_frequencies.dtype == given.attention_factor.dtype == np.float64
    assert given.inverse_frequencies.shape == (3,)
    assert given.attention_factor.shape == ()


def test_the_base_is_theta():
    assert frequencies(width=4, theta=16.0).tolist() == [1.0, 0.25]
    assert frequencies(width=4, theta=1.0).tolist() == [1.0, 1.0]


def test_a_parameter_of_another_scaling_has_no_effect():
    plain = rotary_frequencies(width=4)
    crowded = rotary_frequencies(width=4, factor=2.0, attention_factor=3.0, original_length=8, sequence_length=64)
    assert plain.inverse_frequencies.tolist() == crowded.inverse_frequencies.tolist()
    assert factor(width=4, attention_factor=3.0) == 1.0


def test_dynamic_makes_the_last_frequency_that_of_linear_scaling_by_the_stretch():
    given = frequencies(width=8, scaling="dynamic", factor=2.0, original_length=10, sequence_length=30)
    assert given[-1] == pytest.approx(frequencies(width=8)[-1] / (2.0 * 3.0 - 1.0))
    assert given[0] == 1.0


@pytest.mark.parametrize("length", [None, 1, 9, 10])
def test_dynamic_leaves_texts_up_to_the_original_length_alone(length):
    given = frequencies(width=8, scaling="dynamic", factor=2.0, original_length=10, sequence_length=length)
    assert given.tolist() == frequencies(width=8).tolist()


def test_llama3_keeps_short_waves_and_divides_long_ones():
    plain, given = frequencies(width=128, theta=500000.0), frequencies(width=128, theta=500000.0, **LLAMA3)
    turns = 8192 * plain / (2 * math.pi)
    assert np.array_equal(given[turns > 4], plain[turns > 4])
    assert given[turns < 1] == pytest.approx(plain[turns < 1] / 8)
    between = (turns >= 1) & (turns <= 4)
    assert between.sum() > 2
    kept = (turns[between] - 1) / 3
    assert given[between] == pytest.approx(plain[between] * (kept + (1 - kept) / 8))


@pytest.mark.parametrize(("length", "divisors"), [(None, [1, 2]), (16, [1, 2]), (17, [4, 8])])
def test_longrope_divides_by_the_factors_for_the_length(length, divisors):
    given = frequencies(width=4, sequence_length=length, **LONGROPE)
    assert given == pytest.approx(frequencies(width=4) / np.array(divisors))


def test_longrope_takes_the_root_or_what_is_given():
    assert factor(width=4, **LONGROPE) == pytest.approx(math.sqrt(1.5))
    assert factor(width=4, **{**LONGROPE, "factor": 1.0}) == 1.0
    assert factor(width=4, attention_factor=0.5, **LONGROPE) == 0.5


@pytest.mark.parametrize(("proportion", "turning"), [(0.0, 0), (0.25, 1), (0.5, 2), (0.7, 2), (1.0, 4)])
def test_proportional_stops_all_but_the_first_pairs(proportion, turning):
    given = frequencies(width=8, scaling="proportional", proportion=proportion, factor=2.0)
    assert given[:turning] == pytest.approx(frequencies(width=8)[:turning] / 2)
    assert given[turning:].tolist() == [0.0] * (4 - turning)


def test_proportional_needs_no_parameter():
    assert frequencies(width=8, scaling="proportional").tolist() == frequencies(width=8).tolist()


def test_yarn_is_not_truncated_where_it_must_not_be():
    # The range runs from 1.309 to 2.814.
    given = frequencies(width=8, scaling="yarn", factor=4.0, original_length=4096, truncate=False)
    share = (2 - 1.3090301) / (2.8141801 - 1.3090301)
    assert given == pytest.approx([1, 0.1, 0.01 * (1 - 0.75 * share), 0.00025], rel=1e-6)


def test_yarn_holds_the_upper_end_at_the_last_feature_not_at_the_last_pair():
    # The range runs from 22 to 35, beyond the last of 32 pairs.
    given = frequencies(width=64, scaling="yarn", factor=4.0, original_length=131072)
    assert given[31] / frequencies(width=64)[31] == pytest.approx(1 - 0.75 * 9 / 13)


def test_yarn_survives_a_range_without_width():
    given = frequencies(width=64, scaling="yarn", factor=4.0, original_length=5)
    plain = frequencies(width=64)
    assert given[0] == 1.0
    assert given[1:] == pytest.approx(plain[1:] / 4)


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, 1 + 0.1 * math.log(16)),
        ({"attention_factor": 1.0}, 1.0),
        ({"magnitude_scaling": 1.0, "magnitude_scaling_all_dimensions": 1.0}, 1.0),
        (
            {"magnitude_scaling": 1.0, "magnitude_scaling_all_dimensions": 0.5},
            (1 + 0.1 * math.log(16)) / (1 + 0.05 * math.log(16)),
        ),
        ({"magnitude_scaling": 0.5}, 1 + 0.1 * math.log(16)),
        ({"magnitude_scaling_all_dimensions": 0.5}, 1 + 0.1 * math.log(16)),
        ({"magnitude_scaling": 0.5, "magnitude_scaling_all_dimensions": 0.0}, 1 + 0.1 * math.log(16)),
        ({"factor": 1.0}, 1.0),
    ],
)
def test_the_attention_factor_of_yarn(more, wanted):
    settings = {"width": 8, "scaling": "yarn", "factor": 16.0, "original_length": 4096, **more}
    assert factor(**settings) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"width": 7}, "width is 7"),
        ({"width": 0}, "width is 0"),
        ({"width": 4, "scaling": "cubic"}, "scaling is 'cubic'"),
        ({"width": 4, "scaling": "linear"}, "needs factor"),
        ({"width": 4, "scaling": "yarn", "factor": 2.0}, "needs original_length"),
        ({"width": 4, "scaling": "linear", "factor": 0.0}, "factor is 0.0"),
        ({"width": 4, "theta": -1.0}, "theta is -1.0"),
        ({"width": 4, "theta": 1.0, "scaling": "yarn", "factor": 2.0, "original_length": 8}, "above 1 for yarn"),
        ({"width": 2, "scaling": "dynamic", "factor": 2.0, "original_length": 8}, "at least 4"),
        ({"width": 4, **LLAMA3, "low_frequency_factor": 4.0}, "low one must be below the high one"),
        ({"width": 4, "scaling": "proportional", "proportion": 1.5}, "proportion is 1.5"),
        ({"width": 6, **LONGROPE}, "short_factors has the shape"),
        ({"width": 4, **LONGROPE, "long_factors": [1.0]}, "long_factors has the shape"),
    ],
)
def test_refuses_what_makes_no_sense(attributes, said):
    with pytest.raises(ValueError, match=said):
        rotary_frequencies(**attributes)

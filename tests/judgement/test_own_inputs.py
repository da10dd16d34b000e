"""Which impostors a user's own inputs and a fixed rule take for right answers."""

import numpy as np
import pytest

from attnspec.judgement.own_inputs import passing_impostors

OPERATION = "scaled_dot_product_attention"
PASS_UNIFORM = {
    "mean_of_values",
    "uniform_weights",
    "scale_by_width",
    "scale_off_by_a_percent",
    "keys_reversed",
    "last_key_dropped",
}


def names(found):
    return {each.name for each in found}


def drawn(shape, dtype="float32"):
    generator = np.random.default_rng(0)
    return {name: generator.random(shape).astype(dtype) for name in ("query", "key", "value")}


def test_uniform_numbers_at_a_usual_size_cannot_tell():
    found = passing_impostors(OPERATION, drawn((1, 1, 512, 1024)), {}, atol=1e-2, rtol=1e-2)
    assert names(found) >= PASS_UNIFORM
    assert not names(found) & {"zeros", "first_value", "no_scale", "not_causal", "no_mask"}
    assert all(0 < each.largest_error < 0.02 for each in found)


def test_sharp_numbers_can():
    inputs = {name: 8 * array - 4 for name, array in drawn((1, 2, 32, 16)).items()}
    found = passing_impostors(OPERATION, inputs, {"is_causal": True}, atol=1e-5, rtol=1e-5)
    assert names(found) == set()


@pytest.mark.parametrize(("dtype", "passes"), [("float32", True), ("float16", False)])
def test_what_only_rounds_is_told_where_it_is_wrong(dtype, passes):
    found = passing_impostors(OPERATION, drawn((1, 1, 8, 8), dtype), {}, atol=1e-2, rtol=1e-2)
    assert ("half_precision" in names(found)) == passes


def test_another_output_may_be_compared():
    found = passing_impostors(OPERATION, drawn((1, 1, 8, 8)), {}, atol=10.0, rtol=0.0, output="logsumexp")
    assert "no_scale" in names(found)
    assert "zeros" not in names(found)

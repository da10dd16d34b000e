"""Which trivial answers a user's own inputs and a fixed rule take for right answers."""

import numpy as np
import pytest

from attnspec.base.errors import UsageError
from attnspec_draws.judge import shapes_from
from attnspec_draws.judge.own_inputs import passing_trivial_answers, tried

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


def test_uniform_numbers_at_a_usual_size_distinguish_little():
    found = passing_trivial_answers(OPERATION, drawn((1, 1, 512, 1024)), {}, atol=1e-2, rtol=1e-2)
    assert names(found) >= PASS_UNIFORM
    assert not names(found) & {"zeros", "first_value", "no_scale", "not_causal", "no_mask"}
    assert all(0 < each.largest_error < 0.02 for each in found)


def test_sharp_numbers_can():
    inputs = {name: 8 * array - 4 for name, array in drawn((1, 2, 32, 16)).items()}
    found = passing_trivial_answers(OPERATION, inputs, {"is_causal": True}, atol=1e-5, rtol=1e-5)
    assert names(found) == set()


@pytest.mark.parametrize(("dtype", "passes"), [("float32", True), ("float16", False)])
def test_what_only_rounds_is_listed_where_it_is_wrong(dtype, passes):
    found = passing_trivial_answers(OPERATION, drawn((1, 1, 8, 8), dtype), {}, atol=1e-2, rtol=1e-2)
    assert ("half_precision" in names(found)) == passes


def test_another_output_may_be_compared():
    found = passing_trivial_answers(OPERATION, drawn((1, 1, 8, 8)), {}, atol=10.0, rtol=0.0, output="logsumexp")
    assert "no_scale" in names(found)
    assert "zeros" not in names(found)


def shape(check, entry=None, **more):
    entries = entry or {name: [3, 8, 512, 1024] for name in ("query", "key", "value")}
    document = {"operation": OPERATION, "dtypes": ["float32"], "shapes": [{**entries, **more}], "own_check": check}
    (only,) = shapes_from(document, said_by="it")
    return only


def check(numbers="uniform"):
    return {"numbers": numbers, "atol": 0.01, "rtol": 0.01}


def test_what_a_user_checks_otherwise_is_said_to_distinguish_little():
    called = shape(check())
    found = tried(called.own_check, called)
    assert names(found.passing) >= {"mean_of_values", "uniform_weights", "scale_by_width"}
    assert "is too weak" in found.sentence()
    assert "the mean of all values" in found.sentence()
    assert found.wrong > len(found.passing)


def test_a_check_that_tells_all_is_said_to():
    called = shape({**check("normal"), "atol": 1e-7, "rtol": 1e-7})
    found = tried(called.own_check, called)
    assert not found.passing
    assert found.sentence().endswith(f"would refuse all of {found.wrong} cheap wrong answers.")


def test_the_numbers_of_a_file_are_those_that_are_tried(tmp_path):
    path = tmp_path / "inputs.npz"
    entry = {name: [1, 2, 8, 4] for name in ("query", "key", "value")}
    np.savez(path, **{name: np.zeros(of, np.float32) for name, of in entry.items()})
    called = shape(check(str(path)), entry)
    assert "zeros" not in names(tried(called.own_check, called).passing)
    assert tried(called.own_check, called).wrong < tried(shape(check(), entry).own_check, called).wrong


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ("uniform", "must look like"),
        ({"numbers": "uniform"}, "must look like"),
        (check("even"), "'even'"),
        ({**check(), "atol": -1}, "-1"),
        ({**check(), "rtol": True}, "True"),
    ],
)
def test_what_is_no_check_is_refused(stated, says):
    with pytest.raises(UsageError, match=says):
        shape(stated)


def test_what_cannot_be_tried_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "inputs.npz"
    np.savez(path, query=np.zeros((1, 2, 3, 4)))
    for called, says in (
        (shape(check(), sinks=[8]), "no usual numbers for sinks"),
        (shape(check(str(tmp_path / "no.npz"))), "cannot be read"),
        (shape(check(str(path))), "query has the shape"),
    ):
        with pytest.raises(UsageError, match=says):
            tried(called.own_check, called)

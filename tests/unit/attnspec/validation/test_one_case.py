"""`attnspec.case`: one golden case in a test of the user's own."""

import numpy as np
import pytest

import attnspec
import attnspec_reference

PLAIN = "core/plain"


def attention(query, key, value):
    return attnspec_reference.scaled_dot_product_attention(query, key, value)[0]


def test_a_right_answer_passes_in_each_form():
    case = attnspec.case(PLAIN)
    output, weights, *_ = attnspec_reference.scaled_dot_product_attention(**case.arguments)
    case.check(output)
    case.check((output, weights))
    case.check({"output": output, "weights": weights})


def test_what_it_holds():
    case = attnspec.case(PLAIN)
    assert (case.id, case.operation, case.dtype) == (PLAIN, "scaled_dot_product_attention", "float64")
    assert case.attributes == {}
    assert case.required == ("output",)
    assert case.refusal is None
    assert case.inputs["query"].dtype == np.float64
    error = np.abs(attention(**case.inputs) - case.expected["output"])
    assert (error <= case.tolerance["output"]).all()
    assert PLAIN in repr(case)


def test_a_draw_of_attributes_alone_is_of_any_dtype():
    case = attnspec.case("draw:causal_mask/7/3:float32:queries=3:keys=3:without=additive+offset")
    assert (case.dtype, case.inputs) == ("any", {})
    case.check(np.tri(3, dtype=bool))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_inputs_and_tolerance_are_of_the_dtype(dtype):
    case = attnspec.case(PLAIN, dtype)
    assert {array.dtype.name for array in case.inputs.values()} == {dtype}
    assert case.expected["output"].dtype == np.float64
    assert (case.tolerance["output"] > attnspec.case(PLAIN).tolerance["output"]).all()
    case.check(attention(**case.inputs))


def test_inputs_are_fresh_and_cannot_be_spoilt():
    case = attnspec.case(PLAIN)
    before = case.inputs["query"].copy()
    case.inputs["query"][:] = 0
    assert (case.inputs["query"] == before).all()
    with pytest.raises(TypeError):
        case.expected["output"] = 0


def test_inputs_have_the_memory_layout_of_the_case():
    layouts = attnspec.case("memory/readonly_key").inputs
    assert not all(array.flags.writeable for array in layouts.values())


def test_a_wrong_answer_is_reported_with_its_worst_elements():
    case = attnspec.case(PLAIN)
    wrong = attention(**case.inputs)
    wrong[0, 1, 2, 0] += 0.5
    wrong[2, 0, 3, 1] += 1e-9
    with pytest.raises(AssertionError) as caught:
        case.check(wrong)
    sentence, heading, _, first, second = str(caught.value).splitlines()[:5]
    assert sentence.startswith(f"{PLAIN} (float64): output[0, 1, 2, 0] is ")
    assert heading == "output: 2 wrong, of 72 elements"
    assert first.split("]")[0].strip() == "[0, 1, 2, 0"
    assert second.split("]")[0].strip() == "[2, 0, 3, 1"


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "returned None"),
        ("text", "returned a str as 'output'"),
        (np.zeros((1, 2)), r"output has the shape \(1, 2\)"),
        ({"result": np.zeros(3)}, "the unknown output 'result'"),
    ],
)
def test_what_is_no_answer_is_said_in_a_sentence(returned, sentence):
    with pytest.raises(AssertionError, match=sentence):
        attnspec.case(PLAIN).check(returned)


def test_a_wrong_dtype_is_wrong():
    case = attnspec.case(PLAIN, "float32")
    with pytest.raises(AssertionError, match="expected float32"):
        case.check(attention(**case.inputs).astype(np.float64))


def test_a_case_that_must_be_refused_says_why():
    case = attnspec.case("rejects/batch_of_one")
    assert case.refusal
    assert case.expected == {}
    with pytest.raises(ValueError):  # noqa: PT011 - any exception is a refusal
        attention(**case.inputs)
    with pytest.raises(AssertionError, match="accepted what it must refuse"):
        case.check(np.zeros(3))


def test_a_case_of_properties_is_checked_for_them():
    case = attnspec.case("documents/002/glorot_normal_seed_7")
    case.check(attnspec_reference.glorot_normal(**case.arguments))
    with pytest.raises(AssertionError):
        case.check(np.zeros((case.attributes["fan_in"], case.attributes["fan_out"])))


def test_a_case_without_floats_needs_no_dtype():
    case = attnspec.case("documents/002/causal_mask_boolean")
    assert case.dtype == "any"
    case.check(attnspec_reference.causal_mask(**case.arguments))


def test_conventions_change_what_is_expected():
    name = "documents/002/attention_fully_masked_row"
    assert np.isnan(attnspec.case(name, conventions={"fully_masked_row": "nan"}).expected["output"]).any()
    assert not np.isnan(attnspec.case(name).expected["output"]).any()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("core/plan",), "Did you mean core/plain"),
        (("core/*",), "'core/\\*' is a pattern"),
        ((PLAIN, "float8"), "There is no dtype 'float8'"),
    ],
)
def test_bad_arguments_are_said_in_a_sentence(arguments, sentence):
    with pytest.raises(attnspec.AttnspecError, match=sentence):
        attnspec.case(*arguments)


def test_a_dtype_that_a_case_is_not_offered_in_is_named():
    with pytest.raises(attnspec.AttnspecError, match="is not offered in float16; it is in"):
        attnspec.case("documents/001/softmax_of_rows", "float16")

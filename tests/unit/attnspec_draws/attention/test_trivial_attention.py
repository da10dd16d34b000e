"""Trivial answers give in the right shapes, what their sentence says, and nothing wrong where they do not apply."""

import numpy as np
import pytest

from attnspec.grading.expectation import reference_outputs
from attnspec_draws import Recipe, draw, drawable
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.trivial_answers import Answered

FORWARD, BACKWARD, MERGING = (
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "merge_states",
)
TRIVIAL_ANSWERS = {
    (operation, trivial_answer.name): trivial_answer
    for operation in (FORWARD, BACKWARD, MERGING)
    for trivial_answer in random_cases_of(operation).trivial_answers[operation]
}
FORGETS = {
    "no_mask": "mask",
    "not_causal": "is_causal",
    "one_ahead": "is_causal",
    "no_window": "window",
    "no_softcap": "softcap",
    "no_sinks": "sinks",
    "no_alibi": "alibi_slopes",
    "no_past": "past_key",
    "default_scale": "scale",
    "no_gradient_of_logarithms": "grad_logsumexp",
}
"""Trivial answer to what it does not look at."""


def numbers(seed, *shape):
    return np.random.default_rng(seed).integers(-8, 9, shape) / 4


def answered(operation, inputs, before=None, **attributes):
    right = reference_outputs(operation, inputs, attributes)
    return Answered(inputs, attributes, right, before or {})


def answer(operation, name, call):
    return TRIVIAL_ANSWERS[operation, name].answer(call)


def tokens(*, heads=1, shared=1, batch=1, queries=3, keys=4):
    return {
        "query": numbers(1, batch, heads, queries, 4),
        "key": numbers(2, batch, shared, keys, 4),
        "value": numbers(3, batch, shared, keys, 2),
    }


def softmax_of(scores):
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("operation", drawable())
def test_every_answer_has_the_expected_shape(operation):
    limits = Limits("float32", frozenset({"refused"}), elements=600, longest=80)
    before = {}
    for number in range(120):
        case = draw(Recipe(operation, "shapes", number, limits))
        right = case.golden("float32")
        with np.errstate(all="ignore"):
            for trivial_answer in random_cases_of(operation).trivial_answers[operation]:
                given = trivial_answer.answer(Answered(case.inputs, case.attributes, right, before))
                assert {name: array.shape for name, array in given.items()} == {
                    name: right[name].shape for name in given
                }
                assert given or (trivial_answer.name == "previous_answer" and not before)
                forgotten = FORGETS.get(trivial_answer.name)
                if forgotten and forgotten not in {*case.inputs, *case.attributes}:
                    for name, array in given.items():
                        np.testing.assert_array_equal(array, right[name], f"{trivial_answer.name} of {case.id}")
        before = right


@pytest.mark.parametrize("operation", drawable())
def test_names_and_sentences_are_distinct(operation):
    trivial_answers = random_cases_of(operation).trivial_answers[operation]
    assert len({trivial_answer.name for trivial_answer in trivial_answers}) == len(trivial_answers)
    assert len({trivial_answer.sentence for trivial_answer in trivial_answers}) == len(trivial_answers)


def test_values_without_weights():
    inputs = tokens(heads=2, shared=1)
    call = answered(FORWARD, inputs)
    every = np.ones((1, 2, 3, 1))
    mean, first, newest = (inputs["value"][:, :, part].mean(axis=2, keepdims=True) for part in ([0, 1, 2, 3], [0], [3]))
    for name, expected in (("mean_of_values", mean), ("first_value", first), ("newest_value", newest)):
        np.testing.assert_allclose(answer(FORWARD, name, call)["output"], expected * every, rtol=1e-15)


def test_uniform_weights_are_of_the_keys_that_may_be_attended():
    call = answered(FORWARD, tokens(queries=4), is_causal=True)
    means = np.cumsum(call.inputs["value"], axis=2) / np.arange(1, 5)[:, np.newaxis]
    np.testing.assert_allclose(answer(FORWARD, "uniform_weights", call)["output"], means, rtol=1e-14)


def test_the_best_key_alone_counts():
    call = answered(FORWARD, tokens())
    best = (call.inputs["query"] @ call.inputs["key"].swapaxes(2, 3))[0, 0].argmax(axis=-1)
    np.testing.assert_array_equal(
        answer(FORWARD, "best_key_alone", call)["output"][0, 0], call.inputs["value"][0, 0][best]
    )


def test_scales():
    inputs = tokens()
    products = inputs["query"] @ inputs["key"].swapaxes(2, 3)
    call = answered(FORWARD, inputs)
    for name, scale in (("no_scale", 1.0), ("scale_by_width", 1 / 4), ("scale_off_by_a_percent", 0.505)):
        expected = softmax_of(products * scale) @ inputs["value"]
        np.testing.assert_allclose(answer(FORWARD, name, call)["output"], expected, rtol=1e-12)


def test_heads_are_tiled():
    inputs = tokens(heads=4, shared=2)
    got = answer(FORWARD, "heads_tiled", answered(FORWARD, inputs))["output"]
    for head in range(4):
        weights = softmax_of(inputs["query"][0, head] @ inputs["key"][0, head % 2].T / 2)
        np.testing.assert_allclose(got[0, head], weights @ inputs["value"][0, head % 2], rtol=1e-12)


@pytest.mark.parametrize(("name", "dropped"), [("last_key_dropped", [2, 3]), ("first_key_dropped", [0, 0])])
def test_a_key_is_dropped_of_those_that_are_attended(name, dropped):
    inputs = tokens(queries=2, keys=4)
    mask = np.array([[True, True, True, False], [True, True, True, True]])
    got = answer(FORWARD, name, answered(FORWARD, {**inputs, "mask": mask}))["output"]
    mask[np.arange(2), dropped] = False
    scores = np.where(mask, inputs["query"] @ inputs["key"].swapaxes(2, 3) / 2, -np.inf)
    np.testing.assert_allclose(got, softmax_of(scores) @ inputs["value"], rtol=1e-12)


def test_a_row_keeps_its_only_key():
    call = answered(FORWARD, tokens(queries=3, keys=3), is_causal=True)
    got = answer(FORWARD, "last_key_dropped", call)["output"]
    np.testing.assert_array_equal(got[:, :, 0], call.right["output"][:, :, 0])
    assert not np.allclose(got[:, :, 1:], call.right["output"][:, :, 1:])


def test_keys_are_reversed_beneath_their_values():
    inputs = tokens() | {"past_key": numbers(4, 1, 1, 2, 4), "past_value": numbers(5, 1, 1, 2, 2)}
    got = answer(FORWARD, "keys_reversed", answered(FORWARD, inputs))["output"]
    keys, values = (np.concatenate([inputs[f"past_{name}"], inputs[name]], axis=2) for name in ("key", "value"))
    expected = softmax_of(inputs["query"] @ keys[:, :, ::-1].swapaxes(2, 3) / 2) @ values
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_short_products_are_off_by_as_many_digits_as_they_lack():
    call = answered(FORWARD, tokens(keys=4))
    error = np.abs(answer(FORWARD, "short_products", call)["output"] - call.right["output"]).max()
    assert 2**-20 < error < 2**-9


def test_the_previous_answer_is_what_lies_in_memory():
    before = {"output": np.arange(4.0).reshape(1, 1, 2, 2)}
    call = answered(FORWARD, tokens(queries=3), before)
    np.testing.assert_array_equal(answer(FORWARD, "previous_answer", call)["output"].ravel(), [0, 1, 2, 3, 0, 1])


def test_gradients_without_delta_and_scale():
    inputs = {"grad_output": numbers(6, 1, 1, 3, 2), **tokens()}
    call = answered(BACKWARD, inputs, scale=0.25)
    weights = softmax_of(inputs["query"] @ inputs["key"].swapaxes(2, 3) / 4)
    of_weights = inputs["grad_output"] @ inputs["value"].swapaxes(2, 3)
    without = answer(BACKWARD, "no_delta", call)
    np.testing.assert_allclose(without["grad_query"], weights * of_weights @ inputs["key"] / 4, rtol=1e-12)
    np.testing.assert_allclose(answer(BACKWARD, "no_scale", call)["grad_key"], 4 * call.right["grad_key"])


def test_gradients_of_one_head_of_a_group():
    inputs = {"grad_output": numbers(6, 1, 4, 3, 2), **tokens(heads=4, shared=2)}
    call = answered(BACKWARD, inputs)
    got = answer(BACKWARD, "last_of_group", call)["grad_value"]
    for shared, head in enumerate((1, 3)):
        weights = softmax_of(inputs["query"][0, head] @ inputs["key"][0, shared].T / 2)
        np.testing.assert_allclose(got[0, shared], weights.T @ inputs["grad_output"][0, head], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(answer(BACKWARD, "mean_over_group", call)["grad_key"], call.right["grad_key"] / 2)


def test_tiled_heads_are_summed_as_they_were_read():
    inputs = {"grad_output": numbers(6, 1, 4, 3, 2), **tokens(heads=4, shared=2)}
    got = answer(BACKWARD, "heads_tiled", answered(BACKWARD, inputs))["grad_value"]
    for shared in range(2):
        expected = sum(
            softmax_of(inputs["query"][0, head] @ inputs["key"][0, shared].T / 2).T @ inputs["grad_output"][0, head]
            for head in (shared, shared + 2)
        )
        np.testing.assert_allclose(got[0, shared], expected, rtol=1e-12, atol=1e-14)


def test_parts_are_merged_wrongly():
    inputs = {
        "output_a": numbers(1, 1, 2, 3, 2),
        "logsumexp_a": numbers(2, 1, 2, 3),
        "output_b": numbers(3, 1, 2, 3, 2),
        "logsumexp_b": numbers(4, 1, 2, 3),
    }
    call = answered(MERGING, inputs)
    powers = [2.0 ** inputs[f"logsumexp_{part}"][..., np.newaxis] for part in "ab"]
    weighed = (powers[0] * inputs["output_a"] + powers[1] * inputs["output_b"]) / (powers[0] + powers[1])
    got = answer(MERGING, "base_2", call)
    np.testing.assert_allclose(got["output"], weighed, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got["logsumexp"], np.log2(sum(powers))[..., 0], rtol=1e-12, atol=1e-14)
    first = {name: inputs[name][:, [0, 0]] for name in ("logsumexp_a", "logsumexp_b")}
    expected = reference_outputs(MERGING, {**inputs, **first}, {})["output"]
    np.testing.assert_array_equal(answer(MERGING, "weights_of_first_head", call)["output"], expected)
    taken = np.where(inputs["logsumexp_a"] >= inputs["logsumexp_b"], inputs["logsumexp_a"], inputs["logsumexp_b"])
    np.testing.assert_array_equal(answer(MERGING, "larger_part", call)["logsumexp"], taken)

"""How callables take the contract's arguments: by their own names, by position, by everything at once."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from attnspec.base.errors import TargetError
from attnspec.contract.implementation import Declined, Outputs, Request
from attnspec.targets import load

X = np.array([[1.0, 2.0], [3.0, 5.0]])
QUERY = np.arange(4.0).reshape(1, 1, 2, 2)
ATTENTION = {"query": QUERY, "key": QUERY + 10, "value": QUERY + 20}


def run(function, operation="softmax", inputs=None, renames=None, **attributes):
    implementation = load(function, bare_operation=operation, renames=renames)
    return implementation.run(Request(operation, "float64", inputs or {"x": X}, attributes))


def output(answer):
    assert isinstance(answer, Outputs), answer
    return answer.values["output"]


def attend(function, renames=None, more=None, **attributes):
    return run(function, "scaled_dot_product_attention", {**ATTENTION, **(more or {})}, renames, **attributes)


def the_sentence(function, operation="softmax", renames=None):
    with pytest.raises(TargetError) as caught:
        load(function, bare_operation=operation, renames=renames)
    return str(caught.value)


def test_exactly_what_the_case_states_is_passed_by_keyword():
    def softmax(*, axis="own default", x):
        return x if axis == "own default" else x * 0

    assert np.array_equal(output(run(softmax)), X)
    assert not output(run(softmax, axis=0)).any()


def test_an_argument_that_the_signature_lacks_is_unsupported():
    answer = run(lambda x: x, axis=0)
    assert answer == Declined("it has no argument 'axis'")
    assert isinstance(run(lambda x: x), Outputs)


def test_a_function_without_mask_is_unsupported_on_masked_calls_alone():
    def attention(query, key, value):
        return value

    assert np.array_equal(output(attend(attention)), ATTENTION["value"])
    assert attend(attention, more={"mask": np.ones((2, 2), dtype=bool)}) == Declined("it has no argument 'mask'")


def test_renames_are_the_functions_own_names():
    def attention(Q, K, V):  # noqa: N803
        return Q + K - V

    renames = {"query": "Q", "key": "K", "value": "V"}
    assert np.array_equal(output(attend(attention, renames)), QUERY - 10)


def test_all_names_that_differ_are_reported_at_once():
    def attention(one, two, three=None, scale=None):
        return one

    with pytest.raises(TargetError) as caught:
        attend(attention)
    said = str(caught.value)
    assert "has no argument 'query', 'key', 'value', which scaled_dot_product_attention needs" in said
    assert said.endswith('renames={"query": "one", "key": "two", "value": "three"}')


def test_positional_only_arguments_are_given_in_the_functions_own_order():
    def attention(value, query, key, /):
        return 100 * value + 10 * query + key

    expected = 100 * ATTENTION["value"] + 10 * QUERY + ATTENTION["key"]
    assert np.array_equal(output(attend(attention)), expected)


def test_positional_only_arguments_left_out_before_one_that_is_given_keep_their_defaults():
    def attention(query, key, value, mask=None, epsilon=0.25, scale=1.0, /):
        assert mask is None
        assert epsilon == 0.25
        return value * scale

    assert np.array_equal(output(attend(attention, scale=2.0)), 2 * ATTENTION["value"])
    assert np.array_equal(output(attend(attention)), ATTENTION["value"])


def test_positional_only_arguments_may_be_renamed():
    def attention(q, k, v, /, *, scale=1.0):
        return v * scale

    answer = attend(attention, {"query": "q", "key": "k", "value": "v"}, scale=3.0)
    assert np.array_equal(output(answer), 3 * ATTENTION["value"])


def test_keyword_catchers_take_everything():
    seen = []

    def attention(*args, **kwargs):
        seen.append((args, sorted(kwargs)))
        return kwargs["value"]

    output(attend(attention, more={"mask": np.ones((2, 2), dtype=bool)}, is_causal=True))
    assert seen == [((), ["is_causal", "key", "mask", "query", "value"])]


def test_keyword_catchers_take_renamed_arguments_under_their_own_names():
    answer = attend(lambda **kwargs: kwargs["Q"], {"query": "Q"})
    assert np.array_equal(output(answer), QUERY)


def test_keyword_catchers_beside_named_and_positional_arguments():
    def attention(query, /, key, **more):
        return query + key + more["value"] + more.get("scale", 0)

    expected = sum(ATTENTION.values())
    assert np.array_equal(output(attend(attention, scale=0.5)), expected + 0.5)


def test_a_keyword_catcher_that_demands_something_unknown_cannot_be_used():
    def attention(Q, K, V, **more):  # noqa: N803
        return V

    message = the_sentence(attention, "scaled_dot_product_attention")
    assert "(Q, K, V) demands 'Q', which scaled_dot_product_attention does not have" in message
    assert 'renames={ARGUMENT: "Q"}' in message


def test_position_catchers_alone_cannot_be_called_by_keyword():
    assert "has no argument 'x', which softmax needs" in the_sentence(lambda *args: args[0])


def test_decorated_functions_are_read_through():
    def decorate(function):
        @functools.wraps(function)
        def decorated(*args, **kwargs):
            return function(*args, **kwargs)

        return decorated

    @decorate
    def softmax(x):
        return x

    assert run(softmax, axis=0) == Declined("it has no argument 'axis'")

    @decorate
    def stranger(x, temperature):
        return x

    assert "demands 'temperature'" in the_sentence(stranger)


def test_what_cannot_be_read_takes_everything():
    class Unreadable:
        __signature__ = "none"

        def __call__(self, **arguments):
            return arguments["x"] + arguments["axis"]

    assert np.array_equal(output(run(Unreadable(), axis=1)), X + 1)


def test_partial_functions_and_methods_are_callables():
    class Holder:
        def shares(self, x, axis=-1):
            return x + axis

    assert np.array_equal(output(run(Holder().shares)), X - 1)
    assert np.array_equal(output(run(functools.partial(Holder.shares, Holder(), axis=2))), X + 2)


def test_an_optional_argument_without_a_default_gets_the_contracts():
    def attention(query, key, value, mask, is_causal, causal_alignment):
        assert mask is None
        assert is_causal is False
        assert causal_alignment == "top_left"
        return value

    assert np.array_equal(output(attend(attention)), ATTENTION["value"])

    def softmax(x, axis):
        return x + axis

    assert np.array_equal(output(run(softmax)), X - 1)
    assert np.array_equal(output(run(softmax, axis=1)), X + 1)


def test_a_required_argument_that_is_missing_names_the_rename():
    message = the_sentence(lambda key, value, mine=None: value, "scaled_dot_product_attention")
    assert "(key, value, mine) has no argument 'query', which scaled_dot_product_attention needs" in message
    assert message.endswith('renames={"query": "mine"}')


def test_the_rename_that_is_advised_is_of_a_name_that_is_still_free():
    message = the_sentence(lambda query=None, q=None, value=None: value, "scaled_dot_product_attention")
    assert message.endswith('renames={"key": "q"}')


def test_an_argument_that_the_operation_does_not_have_must_have_a_default():
    message = the_sentence(lambda x, temperature: x)
    assert "(x, temperature) demands 'temperature', which softmax does not have" in message
    assert 'renames={ARGUMENT: "temperature"} (arguments: x, axis)' in message
    assert isinstance(run(lambda x, temperature=1: x), Outputs)


def test_a_rename_of_an_argument_that_no_operation_has_is_an_error():
    message = the_sentence(lambda x, axis=-1: x, renames={"x": "Z"})
    assert message == 'renames={"x": "Z"}: no operation of <lambda> has an argument \'Z\'.'


def test_a_rename_counts_for_the_operations_that_use_it():
    holder = SimpleNamespace(softmax=lambda z, axis=-1: z, combine_heads=lambda x: x)
    implementation = load(holder, renames={"x": "z"})
    for operation in ("softmax", "combine_heads"):
        assert isinstance(implementation.run(Request(operation, "float64", {"x": X}, {})), Outputs)


def test_every_operation_of_a_holder_is_looked_at_before_anything_runs():
    message = the_sentence_of_holder(SimpleNamespace(softmax=lambda x: x, split_heads=lambda x: x))
    assert "SimpleNamespace: split_heads(x) has no argument 'num_heads', which split_heads needs" in message


def the_sentence_of_holder(holder):
    with pytest.raises(TargetError) as caught:
        load(holder)
    return str(caught.value)

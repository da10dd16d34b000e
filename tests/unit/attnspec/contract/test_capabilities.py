"""What an implementation may say that it does not offer."""

import json

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.cases import load_suite
from attnspec.contract import CAPABILITIES, OPERATIONS
from attnspec.contract.declarations import check_capabilities
from attnspec.families.lookup import lacking_capability, needed_capabilities


@pytest.fixture(scope="module")
def suite():
    return load_suite()


def test_every_capability_is_needed_by_some_cases_and_not_by_all(suite):
    needing = dict.fromkeys(CAPABILITIES, 0)
    for case in suite.cases.values():
        for word in needed_capabilities(case) & CAPABILITIES.keys():
            needing[word] += 1
    of_outputs = {output.capability for operation in OPERATIONS.values() for output in operation.gives}
    assert all(0 < count < len(suite.cases) or word in of_outputs for word, count in needing.items()), needing


def test_a_case_needs_what_its_inputs_show(suite):
    for case in suite.cases.values():
        mask = case.inputs.get("mask")
        assert ("boolean_mask" in needed_capabilities(case)) == (mask is not None and mask.dtype == np.bool_)
        assert ("mask" in needed_capabilities(case)) == (mask is not None)


def test_an_argument_at_its_default_is_not_needed(suite):
    for case in suite.cases.values():
        if case.attributes.get("is_causal") is False:
            assert "is_causal" not in needed_capabilities(case)


def test_an_argument_with_one_of_its_values(suite):
    cases = [case for case in suite.cases.values() if case.operation == "apply_rotary"]
    lacked = {case.attributes.get("pairing") for case in cases if lacking_capability(case, ("pairing=interleaved",))}
    assert lacked == {"interleaved"}


@pytest.mark.parametrize(("word", "said"), [("flot_mask", "Did you mean float_mask?"), ("query", "no capability")])
def test_what_is_no_capability_is_quoted(word, said):
    with pytest.raises(UsageError, match=word) as caught:
        check_capabilities((word,), said_by="The command")
    assert said in str(caught.value)


def test_values_that_cases_state_can_be_lacking(suite):
    for case in suite.cases.values():
        if case.rejects is None:
            for name, value in case.attributes.items():
                said = value if isinstance(value, str) else json.dumps(value)
                check_capabilities((f"{name}={said}",), said_by="The command")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("axis=nonsense", "axis is a whole number, such as axis=-2."),
        ("is_causal=1", "is_causal is true or false."),
        ("window=left", "window is a number, a list of numbers, or null."),
        ("pairing=neox", "pairing is one of half, interleaved."),
        ("pairings=half", "no capability"),
    ],
)
def test_a_value_that_an_argument_never_has_is_refused_with_those_it_has(word, said):
    with pytest.raises(UsageError, match=word) as caught:
        check_capabilities((word,), said_by="The command")
    assert said in str(caught.value)


def without_float_masks(query, key, value, mask=None):
    if mask is not None and mask.dtype != np.bool_:
        raise TypeError("masks are Boolean here")
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def test_cases_that_need_what_is_lacking_are_not_called():
    def validated(without):
        return attnspec.validate(
            without_float_masks,
            operation="scaled_dot_product_attention",
            profile="masking",
            without=without,
            probes=False,
        )

    before, after = validated(()), validated("float_mask")
    failed = {result.case.id for result in before.results if result.is_wrong}
    of_float_masks = {
        result.case.id for result in after.results if result.verdict.message.endswith("without float_mask")
    }
    assert of_float_masks & failed
    assert not {result.case.id for result in after.results if result.is_wrong} & of_float_masks
    assert after.declaration.without == ("float_mask",)

"""Canonical JSON: one text for one value."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnspec.cases import canonical_json

FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


def exact(value) -> str:
    """A text that tells 1, 1.0, true, 0.0 and -0.0 apart, whatever the order of the keys."""
    return json.dumps(value, sort_keys=True)


def in_reverse(value):
    if isinstance(value, dict):
        return {key: in_reverse(value[key]) for key in reversed(value)}
    return [in_reverse(item) for item in value] if isinstance(value, list) else value


def no_unsorted_keys(pairs):
    keys = [key for key, _ in pairs]
    assert keys == sorted(keys)
    return dict(pairs)


@given(JSON)
def test_the_text_reads_back_as_the_value(value) -> None:
    text = canonical_json(value)
    assert exact(json.loads(text)) == exact(value)
    assert canonical_json(json.loads(text)) == text


@given(JSON)
def test_the_order_of_keys_does_not_matter(value) -> None:
    text = canonical_json(value)
    assert canonical_json(in_reverse(value)) == text
    json.loads(text, object_pairs_hook=no_unsorted_keys)


@given(JSON)
def test_the_text_ends_with_one_newline(value) -> None:
    text = canonical_json(value)
    assert text.endswith("\n")
    assert not text[:-1].endswith("\n")
    text.encode("utf-8")


@given(FINITE)
def test_floats_have_the_fewest_digits_that_read_back(value) -> None:
    text = canonical_json(value).strip()
    assert math.copysign(1.0, float(text)) == math.copysign(1.0, value)
    assert float(text) == value
    fewest = next(digits for digits in range(17) if float(f"{value:.{digits}e}") == value) + 1
    mantissa = text.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0")
    assert len(mantissa) <= fewest


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("within", [lambda x: x, lambda x: [x], lambda x: {"a": [[1.0], [x]]}, lambda x: {"a": x}])
def test_numbers_that_are_not_finite_are_refused(number, within) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(within(number))


def test_a_list_of_plain_values_stays_on_one_line() -> None:
    value = {"b": [[0.1, 2, True], []], "a": {"é": "ü", "c": {}}, "d": []}
    assert canonical_json(value) == (
        '{\n "a": {\n  "c": {},\n  "\\u00e9": "ü"\n },\n "b": [\n  [0.1, 2, true],\n  []\n ],\n "d": []\n}\n'
    )

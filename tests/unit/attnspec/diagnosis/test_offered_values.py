"""The value of an attribute that a function does not take: it is graded under the default, and offered another one."""

import numpy as np
import pytest

import attnspec
from attnspec.reports.wording import shown_name

SDPA, ROTATION = "scaled_dot_product_attention", "apply_rotary"


def attended(scores, value):
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    with np.errstate(invalid="ignore"):
        return weights / weights.sum(axis=-1, keepdims=True) @ value


def scores_of(query, key, value):
    repeats = query.shape[1] // key.shape[1] if key.shape[1] else 1
    key, value = np.repeat(key, repeats, axis=1), np.repeat(value, repeats, axis=1)
    return query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), value


def attention_with(diagonal):
    """Causal attention that has no `causal_alignment`; the diagonal comes from the numbers of queries and of keys."""

    def attention(query, key, value, is_causal=False):
        scores, value = scores_of(query, key, value)
        if is_causal:
            queries, keys = scores.shape[-2:]
            lower = np.tril(np.ones((queries, keys), bool), diagonal(queries, keys))
            scores = np.where(lower, scores, -np.inf)
        return attended(scores, value)

    return attention


TOP_LEFT = attention_with(lambda queries, keys: 0)
BOTTOM_RIGHT = attention_with(lambda queries, keys: keys - queries)
STRICTLY_BELOW = attention_with(lambda queries, keys: keys - queries - 1)
ONE_BEYOND = attention_with(lambda queries, keys: keys - queries + 1)
MIRRORED = attention_with(lambda queries, keys: queries - keys)


def without_causality(query, key, value, is_causal=False):
    return attended(*scores_of(query, key, value))


def rotated(x, cos, sin, first, second):
    cos, sin = cos[:, None], sin[:, None]
    output = x.copy()
    output[..., first], output[..., second] = (
        x[..., first] * cos - x[..., second] * sin,
        x[..., second] * cos + x[..., first] * sin,
    )
    return output


def half(x, cos, sin):
    pairs = np.arange(cos.shape[-1])
    return rotated(x, cos, sin, pairs, pairs + len(pairs))


def interleaved(x, cos, sin):
    pairs = np.arange(0, 2 * cos.shape[-1], 2)
    return rotated(x, cos, sin, pairs, pairs + 1)


def interleaved_the_other_way(x, cos, sin):
    return interleaved(x, cos, -sin)


def interleaved_backwards(x, cos, sin):
    pairs = np.arange(0, 2 * cos.shape[-1], 2)
    return rotated(x, cos, sin, pairs + 1, pairs)


def validated(function, operation, **options):
    return attnspec.validate(function, operation=operation, probes=False, **options)


RIGHT = {
    "bottom right": (BOTTOM_RIGHT, SDPA, "causal_alignment=bottom_right"),
    "interleaved": (interleaved, ROTATION, "pairing=interleaved"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_of_the_other_value_fails_with_an_offer_and_is_green_once_it_follows(name):
    function, operation, declaration = RIGHT[name]
    report = validated(function, operation)
    assert report.wrong
    offered = report.could_be_declared
    assert declaration in [f"{key}={choice}" for key, choice in offered.conventions.items()]
    assert not offered.without
    after = validated(function, operation, conventions=offered.conventions)
    assert not after.wrong
    assert after.could_be_declared is None
    assert f"({declaration}) conforms in part" in repr(after)
    stating = [result for result in after.results if result.case.attributes.get(declaration.partition("=")[0])]
    assert sum(result.establishes for result in stating) >= 25


@pytest.mark.parametrize("function", [STRICTLY_BELOW, ONE_BEYOND, MIRRORED, without_causality])
def test_a_wrong_alignment_is_offered_none_and_is_wrong_under_both(function):
    report = validated(function, SDPA)
    offered = report.could_be_declared
    assert offered is None or "causal_alignment" not in offered.conventions
    for choice in ("top_left", "bottom_right"):
        conventions = {"causal_alignment": choice, "input_checks": "lenient", "fully_masked_row": "nan"}
        under = validated(function, SDPA, conventions=conventions)
        assert any(result.case.attributes.get("is_causal") for result in under.wrong)


@pytest.mark.parametrize("function", [interleaved_the_other_way, interleaved_backwards])
def test_a_wrong_rotation_is_offered_no_pairing(function):
    report = validated(function, ROTATION)
    assert len(report.wrong) > 50
    offered = report.could_be_declared
    assert offered is None or "pairing" not in offered.conventions


@pytest.mark.parametrize(("function", "operation"), [(TOP_LEFT, SDPA), (half, ROTATION)])
def test_a_function_without_the_argument_is_called_where_a_case_states_the_default(function, operation):
    name = {SDPA: "causal_alignment", ROTATION: "pairing"}[operation]
    report = validated(function, operation, conventions={"input_checks": "lenient", "fully_masked_row": "nan"})
    stating = {"causal_alignment": "top_left", "pairing": "half"}[name]
    called = [result for result in report.results if name in result.run.at_default and name in result.case.attributes]
    assert {result.case.attributes[name] for result in called} == {stating}
    assert sum(result.establishes for result in called) >= 15
    assert not any(name in result.run.attributes for result in called)
    assert f"({name}" not in repr(report)


def test_an_argument_that_is_declared_missing_is_left_out_at_its_default():
    def takes_anything(query, key, value, **others):
        assert "causal_alignment" not in others
        return BOTTOM_RIGHT(query, key, value, **others)

    report = validated(takes_anything, SDPA, without="causal_alignment", select="causal/*top_left*")
    alone = [result for result in report.results if result.run.attributes.keys() <= {"is_causal"} and result.got]
    assert len([result for result in alone if result.is_wrong]) >= 5


@pytest.mark.parametrize(
    ("conventions", "shown"),
    [
        ({"causal_alignment": "bottom_right"}, "mine 2 (causal_alignment=bottom_right)"),
        ({f"{SDPA}.causal_alignment": "bottom_right"}, f"mine 2 ({SDPA}.causal_alignment=bottom_right)"),
        ({"causal_alignment": "top_left", "pairing": "any", "fully_masked_row": "nan"}, "mine 2"),
        ({}, "mine 2"),
    ],
)
def test_a_verdict_names_the_values_that_are_not_the_pages(conventions, shown):
    assert shown_name("mine", "2", conventions) == shown


def packed_with(diagonal):
    """The same for tokens of all sequences behind one another."""

    def attention(query, key, value, query_starts, key_starts, is_causal=False):
        of_one = attention_with(diagonal)
        parts = [np.zeros((0, query.shape[1], value.shape[-1]))]
        for first, last, begin, end in zip(query_starts, query_starts[1:], key_starts, key_starts[1:], strict=False):
            sequence = query[first:last], key[begin:end], value[begin:end]
            output = of_one(*(tokens.swapaxes(0, 1)[None] for tokens in sequence), is_causal=is_causal)
            parts.append(output[0].swapaxes(0, 1))
        return np.concatenate(parts)

    return attention


def test_packed_tokens_are_graded_as_top_left_and_offered_bottom_right():
    known = {"fully_masked_row": "nan"}
    options = {"layout": "packed", "profile": ["causal", "documents"]}
    top_left = validated(packed_with(lambda queries, keys: 0), SDPA, conventions=known, **options)
    assert not top_left.wrong
    bottom_right = packed_with(lambda queries, keys: keys - queries)
    report = validated(bottom_right, SDPA, conventions=known, **options)
    assert len(report.wrong) >= 10
    assert report.could_be_declared.conventions == {"causal_alignment": "bottom_right"}
    after = validated(bottom_right, SDPA, conventions={**known, "causal_alignment": "bottom_right"}, **options)
    assert not after.wrong


def test_who_declines_what_it_does_not_know_is_called_without_the_default():
    """No signature says what it takes: a default that is declined is left out of a second request."""

    def attention(query, key, value, is_causal=False, **others):
        if others:
            raise NotImplementedError(f"no {', '.join(others)}")
        return BOTTOM_RIGHT(query, key, value, is_causal)

    report = validated(attention, SDPA, profile=["causal", "documents"])
    declined = [result for result in report.results if "causal_alignment" in result.verdict.at_default]
    assert len(declined) >= 10
    offered = report.could_be_declared.conventions
    assert offered["causal_alignment"] == "bottom_right"
    assert not validated(attention, SDPA, profile=["causal", "documents"], conventions=offered).wrong


def test_who_names_the_attribute_and_declines_its_default_is_not_called_without_it():
    def attention(query, key, value, is_causal=False, causal_alignment="bottom_right"):
        if causal_alignment == "top_left":
            raise NotImplementedError("bottom right alone")
        return BOTTOM_RIGHT(query, key, value, is_causal)

    report = validated(attention, SDPA, profile="causal")
    stating = [result for result in report.results if result.case.attributes.get("causal_alignment") == "top_left"]
    assert stating
    assert {result.status for result in stating} == {"unsupported"}

"""What an implementation always declines, and always wants, is found, and draws keep within it."""

import pytest

from attnspec.families.lookup import needed_capabilities
from attnspec_draws import draw, learned
from attnspec_draws.generators.limits import Limits
from attnspec_draws.least_offered import offered_under_flags

FORWARD, BACKWARD = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"
MULTI_HEAD = "multi_head_attention"
BIASES = frozenset(("b_query", "b_key", "b_value", "b_output"))
CALLS = 250
"""How often an implementation may be called until it is known what it takes: plain draws, and small ones that lack a
feature each."""


def is_self_attention(case):
    return "cross_attention" not in needed_capabilities(case)


def is_causal(case):
    return bool(case.attributes.get("is_causal"))


def has_all_biases(case):
    return case.inputs.keys() >= BIASES


def has_all_biases_or_none(case):
    return len(case.inputs.keys() & BIASES) in (0, 4)


def has_no_scale(case):
    return "scale" not in case.attributes


def masks_padding_alone(case):
    """A Boolean mask of keys for each entry, if any."""
    mask, key = case.inputs.get("mask"), case.inputs["key"]
    return mask is None or (mask.dtype == bool and mask.shape == (key.shape[0], 1, 1, key.shape[-2]))


def masks_queries_alone(case):
    """A mask of queries and keys for all entries and heads, if any."""
    mask = case.inputs.get("mask")
    return mask is None or mask.shape == (case.inputs["query"].shape[-2], case.inputs["key"].shape[-2])


def is_masked(case):
    return "mask" in case.inputs


def has_stored_results(case):
    return {"output", "logsumexp"} <= case.inputs.keys()


IMPLEMENTATIONS = {
    "a layer of self-attention": (MULTI_HEAD, [is_self_attention, has_no_scale]),
    "all biases or none": (MULTI_HEAD, [is_self_attention, has_all_biases_or_none, has_no_scale]),
    "always causal": (MULTI_HEAD, [is_self_attention, is_causal]),
    "always causal and biased": (MULTI_HEAD, [is_self_attention, is_causal, has_all_biases, has_no_scale]),
    "always masked": (MULTI_HEAD, [is_self_attention, is_masked, masks_queries_alone]),
    "padding alone": (MULTI_HEAD, [is_self_attention, masks_padding_alone]),
    "causal, and padding alone": (MULTI_HEAD, [is_self_attention, is_causal, masks_padding_alone, has_all_biases]),
    "masks of queries alone, other tokens too": (MULTI_HEAD, [masks_queries_alone]),
    "attention over its own tokens": (FORWARD, [is_self_attention, has_no_scale]),
    "causal attention over its own tokens": (FORWARD, [is_self_attention, is_causal]),
    "a backward pass of stored results": (BACKWARD, [has_stored_results]),
    "a causal backward pass of stored results": (BACKWARD, [has_stored_results, is_causal]),
}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_draws_keep_within_what_is_taken(name, recipes):
    operation, takes = IMPLEMENTATIONS[name]
    called = []

    def offered(case):
        called.append(case)
        return case.rejects is not None or all(holds(case) for holds in takes)

    limits = learned(operation, Limits("float64"), offered, "seed")
    assert len(called) < CALLS
    kept = {"without": limits.without, "stated": limits.stated, "given": limits.given}
    drawn = [draw(recipe) for recipe in recipes(operation, 60, elements=300, **kept)]
    drawn = [case for case in drawn if case.rejects is None]
    taken = [case for case in drawn if all(holds(case) for holds in takes)]
    assert len(taken) >= 0.95 * len(drawn)
    # None was fitted by leaving out more than had to be.
    mask = [case for case in taken if "mask" in case.inputs]
    assert len(mask) > 5
    assert any(map(is_causal, taken))
    if operation == MULTI_HEAD:
        assert any(map(has_all_biases, taken))


def test_what_is_taken_under_causality_alone_is_drawn_there():
    def offered(case):
        return "alibi_slopes" not in case.inputs or is_causal(case)

    limits = Limits("float64")
    known = learned(FORWARD, limits, offered, "seed")
    assert "alibi_slopes" in known.without
    (under,) = offered_under_flags(FORWARD, limits, known, offered, "seed")
    assert under.stated == {"is_causal": True}
    assert under.without == known.without - {"alibi_slopes"}


def test_what_is_taken_anywhere_or_nowhere_makes_no_other_draws():
    for lacks in ("no_such_input", "alibi_slopes"):

        def offered(case, lacks=lacks):
            return lacks not in case.inputs

        limits = Limits("float64")
        known = learned(FORWARD, limits, offered, "seed")
        assert [*offered_under_flags(FORWARD, limits, known, offered, "seed")] == []


def test_the_limits_stay_as_they_are_where_no_draw_is_taken():
    limits = Limits("float64", frozenset({"softcap"}))
    assert learned(FORWARD, limits, lambda case: False, "seed") == limits


def test_what_is_left_out_already_is_not_looked_for():
    seen = []

    def offered(case):
        seen.append(case)
        return True

    learned(MULTI_HEAD, Limits("float64", frozenset({"mask", "is_causal"})), offered, "seed")
    assert not any("mask" in case.inputs or "is_causal" in case.attributes for case in seen)


def test_without_other_tokens_key_and_value_are_the_query(recipes):
    for operation in (FORWARD, BACKWARD, MULTI_HEAD):
        for recipe in recipes(operation, 80, elements=300, without=frozenset({"cross_attention"})):
            case = draw(recipe)
            assert is_self_attention(case), recipe.text
            unequal = draw(recipe.with_extents({"queries": 2, "keys": 3, "width": 4}))
            assert is_self_attention(unequal), unequal.id
            assert case.changed_argument is None or case.changed_argument.name not in ("query", "key", "value")

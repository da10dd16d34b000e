"""The facts about failures that nobody knows: what is said, from the output alone, and that it is true."""

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.diagnosis.facts import attended_keys_in_words, index_ranges
from attnspec.families.lookup import family_of
from attnspec.runner import ungraded_run
from attnspec_mistakes import CATALOGUE


def test_the_dtype_and_the_batch_entry(diagnosis_with):
    def second_entry_in_float32(output, *, query, **_):
        if output.shape[0] > 1 and query.dtype == np.float32:
            output[1] += 0.7
        return output

    entry = diagnosis_with(second_entry_in_float32, ("float64", "float32"))
    assert entry.mistake == "unknown"
    assert "Only float32 is affected: the same cases pass in float64." in entry.facts
    assert "Only batch entry 1 is wrong." in entry.facts


def test_query_heads(diagnosis_with):
    def second_half(output, *, query, **_):
        if query.shape[1] == 6:
            output[:, 3:] += 0.7
        return output

    entry = diagnosis_with(second_half)
    assert "Only query heads 3-5 are wrong." in entry.facts


def test_long_rows_of_keys(diagnosis_with):
    def loses_the_tail(output, *, key, **_):
        return output * 0.5 if key.shape[2] > 6 else output

    entry = diagnosis_with(loses_the_tail)
    assert "Every wrong number is 0.5 times what is expected." in entry.facts


@pytest.mark.parametrize(("narrow", "digits"), [("float32", 7), ("float16", 3)])
def test_numbers_that_were_rounded_too_coarsely(narrow, digits, diagnosis_with):
    def through_a_narrow_dtype(output, *, key, **_):
        return output.astype(narrow).astype(np.float64) if key.shape[2] > 6 else output

    (sentence,) = [fact for fact in diagnosis_with(through_a_narrow_dtype).facts if "digits" in fact]
    assert sentence.startswith(f"Every wrong number is right to {digits} digits; bfloat16 holds 2")


def test_numbers_that_are_a_little_too_large(diagnosis_with):
    entry = diagnosis_with(lambda output, *, key, **_: output * (1.001 if key.shape[2] > 6 else 1))
    assert "Every wrong number is 1.001 times what is expected." in entry.facts


def test_keys_in_the_weights(engine):
    import attnspec

    class WithoutTail(engine):
        def scaled_dot_product_attention(self, query, key, value, **arguments):
            outputs = super().scaled_dot_product_attention(query, key, value, **arguments)
            outputs["weights"][..., 4:] = 0.3
            return outputs

    (entry,) = attnspec.validate(WithoutTail(steps=True), profile=["core", "masking"], dtypes="float64").diagnosis
    assert "Only keys from 4 on are wrong." in entry.facts or "Only key 4 is wrong." in entry.facts
    assert "The first step that diverges is 'weights', in every failure" in entry.facts[0]


def test_all_queries_but_the_first(diagnosis_with):
    def all_but_the_first(output, **_):
        if output.shape[2] > 1:
            output[:, :, 1:] += 0.7
        return output

    entry = diagnosis_with(all_but_the_first)
    assert "Only queries from 1 on are wrong." in entry.facts


@pytest.mark.parametrize(
    ("number", "kind"), [(np.nan, "NaN"), (np.inf, "infinite"), (0.0, "0")], ids=["nan", "infinite", "zero"]
)
def test_the_kind_of_numbers(number, kind, diagnosis_with):
    entry = diagnosis_with(lambda output, **_: np.full_like(output, number))
    assert f"Every wrong number is {kind}." in entry.facts


def test_what_failing_cases_have_in_common(diagnosis_with):
    def wrong_beside_a_mask(output, **arguments):
        mask = arguments.get("mask")
        return output + 0.7 if mask is not None and mask.dtype == bool and arguments.get("is_causal") else output

    entry = diagnosis_with(wrong_beside_a_mask)
    features = next(fact for fact in entry.facts if "failing case" in fact)
    assert "a Boolean mask" in features
    assert "causality" in features
    assert "none of the" in features


def test_the_first_step_and_those_that_are_right(engine):
    import attnspec

    class OffInTheWeights(engine):
        def scaled_dot_product_attention(self, query, key, value, **arguments):
            outputs = super().scaled_dot_product_attention(query, key, value, **arguments)
            outputs["weights"] = outputs["weights"] * 0.9 + 0.01
            outputs["output"] = outputs["output"] * 0.9
            return {name: outputs[name] for name in ("output", "weights")}

    (entry,) = attnspec.validate(OffInTheWeights(steps=True), profile="documents", dtypes="float64").diagnosis
    assert entry.facts[0] == "The first step that diverges is 'weights', in every failure."


def test_the_profiles_are_reported_with_their_cases(diagnosis_with):
    entry = diagnosis_with(lambda output, **arguments: output + 0.7 if arguments.get("is_causal") else output)
    (profiles,) = (fact for fact in entry.facts if fact.startswith("Failing cases by profile: "))
    assert profiles.startswith("Failing cases by profile: causal ")


def test_a_fact_is_not_said_where_it_does_not_hold(diagnosis_with):
    entry = diagnosis_with(lambda output, **_: output + np.linspace(0.5, 0.7, output.size).reshape(output.shape))
    for wrong in ("Only", "Every wrong number", "The last", "failing cases have"):
        assert not any(wrong in fact for fact in entry.facts), entry.facts


def test_the_kind_of_numbers_is_that_of_every_dtype(diagnosis_with):
    def wide_ones_are_nan(output, *, query, **_):
        output[...] = np.nan if query.dtype == np.float64 else output + 0.7
        return output

    entry = diagnosis_with(wide_ones_are_nan, ("float64", "float32"))
    assert "Every wrong number is NaN." not in entry.facts
    assert any(fact.startswith("Of the wrong numbers looked at") for fact in entry.facts)


MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}


def answer(case_id, **got):
    case = load_suite(select=(case_id,)).cases[case_id]
    return ungraded_run(case, case.runs[0], "only computed"), got


def mistaken(case_id, mistake):
    """What a mistake answers to a case, its output alone."""
    case = load_suite(select=(case_id,)).cases[case_id]
    output = MISTAKES[mistake].function(**case.inputs, **case.attributes).output
    return answer(case_id, output=output)


def test_a_probe_shows_by_its_output_alone():
    said = attended_keys_in_words(*mistaken("causal/square_probe", "sdpa.causal_one_ahead"))
    assert said == (
        "In causal/square_probe, query 0 attended keys 0-1; it should have attended 0; "
        "query 1 attended keys 0-2; it should have attended 0-1; 2 more like these."
    )


def test_no_key_and_the_future():
    said = attended_keys_in_words(*mistaken("causal/square_probe", "sdpa.causal_strict"))
    assert "query 0 attended no key; it should have attended 0;" in said
    said = attended_keys_in_words(*mistaken("causal/square_probe", "sdpa.causal_inverted"))
    assert "query 0 attended keys 1-4; it should have attended 0;" in said


def test_heads_and_batch_entries_are_reported_where_not_all_are_wrong():
    case = load_suite(select=("varlen/key_lengths_probe",)).cases["varlen/key_lengths_probe"]
    output = case.golden("float64")["output"].copy()
    output[1, 0, 2] = [0.2] * 5
    said = attended_keys_in_words(*answer(case.id, output=output))
    expected = index_ranges(np.flatnonzero(case.golden("float64")["output"][1, 0, 2]).tolist())
    assert said == f"In {case.id}, query 2 attended keys 0-4; it should have attended {expected} (batch 1)."


def test_a_mask_shows_by_itself():
    said = attended_keys_in_words(*answer("layout/causal_mask_square", output=np.ones((5, 5), bool)))
    assert said.startswith("In layout/causal_mask_square, query 0 attended keys 0-4; it should have attended 0;")
    said = attended_keys_in_words(*answer("layout/causal_mask_square_additive", output=np.zeros((5, 5))))
    assert "query 3 attended" in said or "more like these" in said


@pytest.mark.parametrize("case_id", ["causal/square_probe", "causal/square"])
def test_the_right_keys_are_nothing_to_report(case_id):
    case = load_suite(select=(case_id,)).cases[case_id]
    assert attended_keys_in_words(*answer(case_id, **case.golden("float64"))) is None


def test_weights_show_it_in_a_case_that_is_no_probe():
    case = load_suite(select=("causal/bottom_steps",)).cases["causal/bottom_steps"]
    assert not family_of(case.operation).is_probe(case)
    golden = case.golden("float64")
    weights = np.where(golden["weights"] == 0, 0.1, golden["weights"])
    said = attended_keys_in_words(*answer(case.id, output=golden["output"], weights=weights))
    assert said.startswith(f"In {case.id}, query 0 attended keys 0-5; it should have attended 0-2;")


def test_the_output_of_an_ordinary_case_says_nothing_about_keys():
    case = load_suite(select=("causal/square",)).cases["causal/square"]
    output = np.abs(case.golden("float64")["output"]) / 10
    assert attended_keys_in_words(*answer(case.id, output=output)) is None


def test_what_is_no_share_says_nothing_about_keys():
    case = load_suite(select=("causal/square_probe",)).cases["causal/square_probe"]
    for number in (np.nan, -0.5, 7.0):
        output = case.golden("float64")["output"].copy()
        output[0, 0, 0, 3] = number
        assert attended_keys_in_words(*answer(case.id, output=output)) is None


def test_the_diagnosis_reports_it(diagnosis_of):
    first = diagnosis_of("sdpa.causal_one_ahead")[0]
    assert any("causal/square_probe" in sentence or "probe" in sentence for sentence in first.attended)


def test_ranges_of_indices():
    assert index_ranges([]) == "none"
    assert index_ranges([3]) == "3"
    assert index_ranges([5, 0, 1, 2]) == "0-2, 5"
    assert index_ranges(range(0, 40, 2)).endswith("14, …")

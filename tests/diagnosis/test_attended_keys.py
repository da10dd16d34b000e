"""Which keys a query attended and should have, in words."""

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.diagnosis.facts import attended_in_words, index_ranges
from attnspec.families.lookup import family_of
from attnspec.runner import not_graded
from attnspec_mistakes import CATALOGUE

MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}


def answer(case_id, **got):
    case = load_suite(select=(case_id,)).cases[case_id]
    return not_graded(case, case.runs[0], "only computed"), got


def mistaken(case_id, mistake):
    """What a mistake answers to a case, its output alone."""
    case = load_suite(select=(case_id,)).cases[case_id]
    output = MISTAKES[mistake].function(**case.inputs, **case.attributes).output
    return answer(case_id, output=output)


def test_a_probe_shows_by_its_output_alone():
    said = attended_in_words(*mistaken("causal/square_probe", "sdpa.causal_one_ahead"))
    assert said == (
        "In causal/square_probe, query 0 attended keys 0-1; it should have attended 0; "
        "query 1 attended keys 0-2; it should have attended 0-1; 2 more like these."
    )


def test_no_key_and_the_future():
    said = attended_in_words(*mistaken("causal/square_probe", "sdpa.causal_strict"))
    assert "query 0 attended no key; it should have attended 0;" in said
    said = attended_in_words(*mistaken("causal/square_probe", "sdpa.causal_inverted"))
    assert "query 0 attended keys 1-4; it should have attended 0;" in said


def test_heads_and_batch_entries_are_reported_where_not_all_are_wrong():
    case = load_suite(select=("varlen/key_lengths_probe",)).cases["varlen/key_lengths_probe"]
    output = case.golden("float64")["output"].copy()
    output[1, 0, 2] = [0.2] * 5
    said = attended_in_words(*answer(case.id, output=output))
    expected = index_ranges(np.flatnonzero(case.golden("float64")["output"][1, 0, 2]).tolist())
    assert said == f"In {case.id}, query 2 attended keys 0-4; it should have attended {expected} (batch 1)."


def test_a_mask_shows_by_itself():
    said = attended_in_words(*answer("layout/causal_mask_square", output=np.ones((5, 5), bool)))
    assert said.startswith("In layout/causal_mask_square, query 0 attended keys 0-4; it should have attended 0;")
    said = attended_in_words(*answer("layout/causal_mask_square_additive", output=np.zeros((5, 5))))
    assert "query 3 attended" in said or "more like these" in said


@pytest.mark.parametrize("case_id", ["causal/square_probe", "causal/square"])
def test_the_right_keys_are_nothing_to_report(case_id):
    case = load_suite(select=(case_id,)).cases[case_id]
    assert attended_in_words(*answer(case_id, **case.golden("float64"))) is None


def test_weights_show_it_in_a_case_that_is_no_probe():
    case = load_suite(select=("causal/bottom_steps",)).cases["causal/bottom_steps"]
    assert not family_of(case.operation).is_probe(case)
    golden = case.golden("float64")
    weights = np.where(golden["weights"] == 0, 0.1, golden["weights"])
    said = attended_in_words(*answer(case.id, output=golden["output"], weights=weights))
    assert said.startswith(f"In {case.id}, query 0 attended keys 0-5; it should have attended 0-2;")


def test_the_output_of_an_ordinary_case_says_nothing_about_keys():
    case = load_suite(select=("causal/square",)).cases["causal/square"]
    output = np.abs(case.golden("float64")["output"]) / 10
    assert attended_in_words(*answer(case.id, output=output)) is None


def test_what_is_no_share_says_nothing_about_keys():
    case = load_suite(select=("causal/square_probe",)).cases["causal/square_probe"]
    for number in (np.nan, -0.5, 7.0):
        output = case.golden("float64")["output"].copy()
        output[0, 0, 0, 3] = number
        assert attended_in_words(*answer(case.id, output=output)) is None


def test_the_diagnosis_reports_it(diagnosis_of):
    first = diagnosis_of("sdpa.causal_one_ahead")[0]
    assert any("causal/square_probe" in sentence or "probe" in sentence for sentence in first.attended)


def test_ranges_of_indices():
    assert index_ranges([]) == "none"
    assert index_ranges([3]) == "3"
    assert index_ranges([5, 0, 1, 2]) == "0-2, 5"
    assert index_ranges(range(0, 40, 2)).endswith("14, …")

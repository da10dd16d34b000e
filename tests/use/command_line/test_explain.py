"""`attnspec explain`: clauses, mistakes, errata and cases, in words."""

import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.contract import OPERATIONS
from attnspec.diagnosis.differences import difference_made
from attnspec.specification import clauses, errata
from attnspec_mistakes import CATALOGUE, mistakes_of

CASES = sorted(load_suite().cases.values(), key=lambda case: case.size)


@pytest.fixture
def explained(capsys):
    def explain(name):
        status = main(["explain", name])
        captured = capsys.readouterr()
        return status, " ".join(captured.out.split()), captured.err

    return explain


def test_a_clause_is_explained_with_its_mistakes_and_cases(explained):
    status, said, _ = explained("sdpa.causal.top_left")
    assert status == 0
    assert clauses()["sdpa.causal.top_left"].text in said
    assert "sdpa.causal_strict: With is_causal, a query could not attend to its own position." in said
    assert "causal/" in said
    assert " more" in said


def test_a_mistake_is_explained_with_clause_remedy_report_and_difference(explained):
    (mistake,) = (mistake for mistake in CATALOGUE if mistake.id == "sdpa.scale_missing")
    status, said, _ = explained(mistake.id)
    assert status == 0
    assert mistake.sentence in said
    assert f"What to do: {mistake.remedy}" in said
    assert f"It breaks {mistake.clause}: {clauses()[mistake.clause].text}" in said
    assert f"A source document makes it: {mistake.erratum}" in said
    assert f"Made in public: {mistake.source}" in said
    assert "The difference it makes: In " in said
    assert " instead of " in said


def test_the_difference_is_reported_in_keys_where_it_is_one_of_keys(explained):
    _, said, _ = explained("sdpa.causal_one_ahead")
    assert "query 0 attended keys 0-1; it should have attended 0;" in said


def test_an_erratum_is_explained_with_mistakes_and_cases(explained):
    status, said, _ = explained("E000.softmax_axis")
    assert status == 0
    assert errata()["E000.softmax_axis"].title in said
    assert "single_head.softmax_over_queries: " in said
    assert "documents/000/single_head: " in said


def test_a_case_is_explained_with_title_clauses_and_source(explained):
    status, said, _ = explained("documents/000/single_head")
    assert status == 0
    assert "Unscaled single-head attention with three tokens" in said
    assert "Source: " in said
    assert f"single_head.softmax.keys: {clauses()['single_head.softmax.keys'].text}" in said
    assert "Erratum E000.softmax_axis: " in said
    assert "`attnspec show documents/000/single_head`" in said


def test_a_case_that_must_be_refused_says_why(explained):
    _, said, _ = explained("documents/002/refuses_query_of_rank_2")
    assert "It must be refused: " in said
    assert "valid counterpart is documents/002/" in said


def test_an_unknown_id_is_2_and_names_what_comes_near(explained):
    status, said, err = explained("sdpa.causal_one_ahed")
    assert status == 2
    assert said == ""
    assert "There is no clause, erratum, mistake, case or word 'sdpa.causal_one_ahed'." in err
    assert "Did you mean sdpa.causal_one_ahead" in err
    assert "Traceback" not in err


REFUSES_OR_TAKES_WRONGLY = {"append.empty_refused", "scatter.circular_by_default"}
"""Mistakes whose clause gives numbers, but which differ in what they refuse alone."""


def shows_in_numbers(mistake):
    """Return whether wrong numbers give a mistake away; a missing refusal or an edited input has none to show."""
    elsewhere = mistake.clause.endswith(".inputs_unchanged") or ".rejects." in mistake.clause
    refused = mistake.id in REFUSES_OR_TAKES_WRONGLY
    return mistake.begin is None and mistake.operation != "glorot_normal" and not elsewhere and not refused


def has_a_difference(mistake):
    """Return whether a case shows the difference that a mistake makes; those that are made for it are tried first."""
    suited = sorted(CASES, key=lambda case: (mistake.id not in case.targets, mistake.clause not in case.clauses))
    return any(difference_made(mistake, [case]) is not None for case in suited)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_mistake_that_shows_in_numbers_has_the_difference_it_makes(operation):
    for mistake in mistakes_of(operation):
        assert has_a_difference(mistake) == shows_in_numbers(mistake), mistake.id

"""Computing on several processors gives the same bytes as computing on one."""

from dataclasses import replace

import pytest

from attnspec.base.errors import RecipeError
from attnspec_authoring.recipes.attention import documents
from attnspec_authoring.regeneration import computing
from attnspec_authoring.regeneration.computing import computed_texts, text_of

QUICK = ("documents/003/context_vector", "documents/002/causal_mask_boolean", "documents/001/softmax_of_rows")


@pytest.fixture(scope="module")
def cases():
    every = {case.id: case for case in documents.cases()}
    return [every[case_id] for case_id in QUICK]


@pytest.fixture
def two_processors(monkeypatch):
    monkeypatch.setattr(computing, "_FEW", 1)
    monkeypatch.setattr(computing, "_processors", lambda: 2)


def test_processes_give_the_bytes_of_one(cases, two_processors):
    seen = []
    texts = computed_texts(cases, lambda: seen.append(1))
    assert texts == {case.id: text_of(case) for case in cases}
    assert len(seen) == len(cases)


def test_few_cases_are_computed_here(cases, monkeypatch):
    monkeypatch.setattr(computing, "_in_processes", None)
    assert set(computed_texts(cases)) == set(QUICK)
    assert computed_texts([]) == {}


def test_a_contradiction_is_a_sentence_from_a_process_too(cases, two_processors):
    wrong = replace(cases[0], outputs=("scores",))
    with pytest.raises(RecipeError, match="the output 'context' is expected and must be stored"):
        computed_texts([wrong, *cases[1:]])


def test_the_processors_are_those_that_this_process_may_use():
    assert computing._processors() >= 1

"""The words that the page explains: clauses, mistakes, errata, and where sources lead."""

import copy

import pytest

from attnspec.reports.html.glossary import glossary, sources
from attnspec.specification import clauses
from attnspec_mistakes import CATALOGUE

SQUARE = "causal/square"


def test_everything_that_is_named_is_explained(wrong, suite):
    found = glossary([wrong], suite, ["documents/000/scores_far_apart"])
    failing = {result["case"] for result in wrong["results"] if result["status"] == "fail"}
    assert failing
    for case_id in (*failing, "documents/000/scores_far_apart"):
        case = suite.cases[case_id]
        assert set(case.clauses) <= found["clauses"].keys()
        assert set(case.targets) <= found["mistakes"].keys()
        assert set(case.errata) <= found["errata"].keys()
    for entry in wrong["diagnosis"]:
        weighed = {candidate["mistake"] for candidate in entry["candidates"]}
        assert weighed <= found["mistakes"].keys()
    for mistake in found["mistakes"].values():
        assert mistake["clause"] in found["clauses"]
        assert mistake["erratum"] is None or mistake["erratum"] in found["errata"]
    assert {clause["page"] for clause in found["clauses"].values()} == found["pages"].keys()
    assert found["pages"]["attention/softmax.md"] == "Softmax"
    assert found["clauses"]["sdpa.causal.top_left"]["text"] == clauses()["sdpa.causal.top_left"].text


def test_what_nobody_names_is_left_out(right, suite):
    found = glossary([right], suite, [])
    assert not found["mistakes"], "nothing went wrong"
    assert not any(name.startswith("rotary") for name in found["clauses"])


def test_a_mistake_of_another_version_is_left_out(wrong, suite):
    strange = copy.deepcopy(wrong)
    strange["diagnosis"][0].update(mistake="sdpa.unheard_of", clause="sdpa.unheard_of_clause")
    found = glossary([strange], suite, [])
    assert "sdpa.unheard_of" not in found["mistakes"]
    assert "sdpa.unheard_of_clause" not in found["clauses"]


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("https://github.com/jax-ml/jax/issues/19237", "https://github.com/jax-ml/jax/issues/19237"),
        ("arXiv:2205.14135", "https://arxiv.org/abs/2205.14135"),
        ("Dao-AILab/flash-attention#895", "https://github.com/Dao-AILab/flash-attention/issues/895"),
        ("In [4]: softmax, which subtracts one maximum from the whole matrix", None),
        ("002_c44bbdfd43669549.txt", None),
        ("javascript:alert(1)", None),
        ("https://example.org/ and more words", None),
        ("data:text/html,https://example.org", None),
    ],
)
def test_a_source_leads_to_its_address(source, address):
    assert sources([source]) == [[source, address]]


def test_every_web_address_of_the_suite_is_a_link(suite):
    words = [word for case in suite.cases.values() for word in case.source.values()]
    words += [mistake.source for mistake in CATALOGUE if mistake.source]
    unlinked = [text for text, address in sources(words) if "://" in text and address != text]
    assert unlinked == []
    assert sum(address is not None for _, address in sources(words)) > 300

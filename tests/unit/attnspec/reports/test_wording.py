"""The sentences that all reports share, from names, numbers and strings."""

import pytest

from attnspec.contract import TITLES
from attnspec.reports import wording


@pytest.mark.parametrize(
    ("shown", "count", "said"), [("abc", 3, "a, b, c"), ("abc", 4, "a, b, c and 1 more"), ("", 0, "")]
)
def test_what_is_not_named_is_counted(shown, count, said):
    assert wording.names(list(shown), count) == said


def test_a_list_that_goes_on_says_where_it_is_whole():
    assert wording.more(2) == "… and 2 more"
    assert wording.more(2, "cases", whole_in="report.json") == "… and 2 more cases; report.json has them all."


def test_what_is_counted_agrees_with_its_number():
    assert [wording.counted(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
    assert wording.counted(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize("said", ["it ends.", "does it?", "it does!", "and so on …"])
def test_what_ends_as_a_sentence_gets_no_full_stop(said):
    assert wording.as_sentence(said) == said
    assert wording.as_sentence("it ends") == "it ends."


@pytest.mark.parametrize(
    ("conformance", "counts", "said", "in_short"),
    [
        ("conforms", {"pass": 3, "unsupported": 1}, "it conforms: 3 of 3 passed, every clause graded.", "conforms"),
        (
            "conforms in part",
            {"pass": 3},
            "it conforms in part: 3 of 3 passed, nothing wrong, 2 of 5 clauses graded.",
            "conforms in part: 2 of 5 clauses",
        ),
        (
            "does not conform",
            {"pass": 1, "fail": 1, "crash": 1, "unsupported": 4},
            "it does not conform: 2 of 3 went wrong, 1 passed.",
            "does not conform: 2 of 3 wrong",
        ),
        (
            "conforms",
            {"pass": 3, "ungraded": 2},
            "it conforms: 3 of 3 passed, 2 ungraded, every clause graded.",
            "conforms",
        ),
        (
            "conforms in part",
            {"pass": 3, "ungraded": 2},
            "it conforms in part: 3 of 3 passed, 2 ungraded, nothing wrong, 2 of 5 clauses graded.",
            "conforms in part: 2 of 5 clauses",
        ),
        (
            "does not conform",
            {"pass": 1, "fail": 1, "ungraded": 2},
            "it does not conform: 1 of 2 went wrong, 1 passed, 2 ungraded.",
            "does not conform: 1 of 2 wrong",
        ),
        (
            "nothing graded",
            {"unsupported": 4},
            "it is neither right nor wrong: nothing could be graded (4 tried).",
            "nothing graded",
        ),
    ],
)
def test_a_verdict_counts_what_was_tried(conformance, counts, said, in_short):
    summary = {"conformance": conformance, "statuses": counts, "clauses_graded": 2, "clauses": 5}
    assert wording.verdict_line("it", summary) == said
    assert wording.short_verdict(summary) == in_short


def test_families_are_called_by_their_titles():
    family, title = next(iter(TITLES.items()))
    assert wording.family_left_out(family, 1) == f"Not offered: {title} (1 case)."
    assert wording.family_left_out("of a later version", 2) == "Not offered: of a later version (2 cases)."


def test_numbers_are_reported_only_where_some_were_compared():
    def compared(graded, not_graded, median, **fused):
        summary = {"elements_graded": graded, "elements_not_graded": not_graded, "median": median}
        return wording.numbers_compared(summary, **fused)

    assert compared(0, 7, None) is None
    assert compared(1_000, 0, None) == "1,000 numbers compared"
    assert compared(5, 1, 0.25, fused=(1, 2)) == (
        "5 numbers compared, 1 not graded; median error / tolerance 0.25; "
        "of 2 passes in half precision, graded unfused, 1 would pass fused too"
    )


@pytest.mark.parametrize(
    ("first", "agreeing", "said"),
    [
        (None, [], None),
        ("scores", [], "The first step that diverges is 'scores', the first one that was returned."),
        ("weights", ["scores"], "The first step that diverges is 'weights'; scores is right."),
        ("output", ["scores", "weights"], "The first step that diverges is 'output'; scores, weights are right."),
    ],
)
def test_the_step_that_diverges_is_named_behind_those_that_agree(first, agreeing, said):
    assert wording.diverging_step(first, agreeing) == said


def test_a_status_is_named_where_the_words_do_not_give_it_away():
    assert wording.ending_with_status("fail", "is 1; expected 2") == "is 1; expected 2"
    assert wording.ending_with_status("timeout", "no answer") == "timeout: no answer"


def test_what_this_version_of_the_spec_does_not_know_is_named_alone():
    assert wording.clause_in_words("no.such.clause") == "no.such.clause"
    assert wording.suspicion("no.such.clause", 1) == "The one answer that exercises no.such.clause went wrong."
    assert wording.broken_clause("no.such.clause") == "It breaks no.such.clause: see the spec"
    assert wording.see_also("E999.none") is None
    assert wording.same_erratum("E999.none") == "Erratum E999.none: see spec/errata.md"


def offer(**changed):
    declared = {"without": ["grouped_query"], "conventions": {"no_keys": "refuse"}, "fewer": 8, "of": 8, "right": 169}
    return {**declared, "left": [], **changed}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "The mathematics is right in all 169 cases that it takes."),
        (
            {"fewer": 1, "left": ["no_elements"]},
            "The mathematics is right in all 169 cases that it takes; 7 cases without elements are left.",
        ),
        (
            {"fewer": 7, "left": ["fully_masked_row"]},
            "The mathematics is right in all 169 cases that it takes; 1 case about fully_masked_row is left.",
        ),
        ({"fewer": 7, "left": None}, None),
        ({"right": 0}, None),
        ({"right": 1}, None),
    ],
)
def test_the_mathematics_is_right_where_edges_alone_are_left(changed, said):
    assert wording.what_is_right(offer(**changed), "case") == said


def test_all_of_an_offer_is_one_line():
    sentence, options = wording.offer_to_declare(offer(fewer=7))
    assert sentence.endswith("1 of them is left:")
    assert options == "--without grouped_query --convention no_keys=refuse"
    assert wording.offer_to_declare(offer(without=[]))[1] == "--convention no_keys=refuse"

"""Arguments that are taken: the verdict says which of them nothing graded shows, in every report."""

import json
from dataclasses import replace

import numpy as np
import pytest

import attnspec
from attnspec.cases import load_suite
from attnspec.reports.document import report_to_json
from attnspec.reports.formats.console import print_report
from attnspec.reports.formats.junit import junit_xml
from attnspec.reports.formats.markdown import markdown
from attnspec.reports.html import html_page
from attnspec.reports.notebook import notebook_html
from attnspec.reports.report import summarise

MULTI, SDPA = "multi_head_attention", "scaled_dot_product_attention"


def attended(query, key, value):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e30))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def masked(query, key, value, mask=None):
    """Attention under a Boolean mask."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def ignoring_what_it_declines(query, key, value, mask=None, sinks=None):
    """It takes a mask and sinks, and computes with neither where it does not decline."""
    if mask is not None or sinks is not None:
        raise NotImplementedError("a mask or sinks beside <anything>")
    return attended(query, key, value)


def of_anything(query, key, value, **others):
    if others.keys() - {"scale"} or others.get("scale") not in (None, 0.5):
        raise NotImplementedError("more than a scale of a half")
    return attended(query, key, value)


def validated(function, operation=SDPA, **options):
    return attnspec.validate(function, operation=operation, probes=False, **options)


def ungraded(report):
    return [(each.operation, each.argument) for each in report.ungraded_arguments]


@pytest.fixture(scope="module")
def report():
    return validated(ignoring_what_it_declines, profile=["core", "masking", "sinks"])


def test_what_nothing_graded_shows_is_found_with_its_reason(report):
    assert ungraded(report) == [(SDPA, "mask"), (SDPA, "sinks")]
    mask = report.ungraded_arguments[0]
    assert (mask.graded, mask.reason) == (0, "a mask or sinks beside <anything>")
    assert mask.not_graded > 50


def test_the_sentence_stands_in_every_report(report, capsys):
    from rich.console import Console

    said = "Taken, and not graded: mask, sinks of scaled_dot_product_attention. Code that ignores them passes as well"
    document = report_to_json(report)
    assert [each["argument"] for each in document["arguments"] if not each["graded"]] == ["mask", "sinks"]
    print_report(report, Console(width=1000))
    assert said in capsys.readouterr().out
    assert said in repr(report)
    shown = said.replace("_", r"\_")
    assert shown in markdown(document)
    assert said in notebook_html(report)
    assert said in junit_xml(document)
    page = html_page([document], ["mine"], load_suite(select=["core/plain"]))
    assert said in page
    assert "<anything>" not in page.partition("Taken, and not graded")[2][:400]
    assert json.loads(json.dumps(document)) == document


def normalised(x, where=None, axis=-1, return_lse=False):
    """A softmax that takes what the operation does not know."""
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def test_an_argument_to_which_nothing_is_given_is_named_in_every_report(capsys):
    from rich.console import Console

    report = validated(normalised, "softmax")
    assert not report.wrong
    assert not report.ungraded_arguments
    said = "Never given, and not graded: where, return_lse of softmax."
    document = report_to_json(report)
    print_report(report, Console(width=1000))
    assert f"\n{said}" in capsys.readouterr().out
    page = html_page([document], ["mine"], load_suite(select=["core/plain"]))
    shown = markdown(document).replace("\\_", "_")
    assert all(said in text for text in (repr(report), shown, notebook_html(report), junit_xml(document), page))


def test_nothing_is_never_given_where_the_signature_is_the_contracts():
    for function in (masked, of_anything):
        assert "Never given" not in repr(validated(function, select="core/plain"))


def test_an_argument_that_is_graded_is_counted_and_not_named():
    report = validated(masked, profile=["core", "masking"])
    (mask,) = report.arguments
    assert mask.argument == "mask"
    assert mask.graded > 20
    assert not report.ungraded_arguments
    assert "not graded:" not in repr(report).splitlines()[1]


def test_an_argument_that_is_declared_missing_is_not_looked_for():
    assert not ungraded(validated(ignoring_what_it_declines, profile="masking", without=["mask", "sinks"]))


def test_where_kinds_of_it_are_declared_missing_the_argument_is_named():
    report = validated(masked, profile="masking", without=["boolean_mask", "float_mask"])
    assert ungraded(report) == [(SDPA, "mask")]
    assert "declared to be without" in report.ungraded_arguments[0].reason


def test_cases_that_were_not_selected_are_not_missed():
    assert not ungraded(validated(ignoring_what_it_declines, select="core/plain"))


def test_without_a_signature_an_argument_counts_once_it_was_answered():
    """The mask of it was never answered; its scale was, in cases in which a scale of a half makes a difference."""
    report = validated(of_anything, profile=["core", "masking"])
    assert {each.argument for each in report.arguments} == {"scale"}
    right = validated(of_anything, select="core/scale*")
    assert [(each.argument, each.graded > 0) for each in right.arguments] in ([], [("scale", True)])


def test_a_value_that_is_always_the_same_is_not_looked_for():
    def causal(query, key, value, is_causal=False, causal_alignment="bottom_right"):
        raise NotImplementedError

    report = validated(causal, profile="causal", conventions={"causal_alignment": "bottom_right"})
    assert ungraded(report) == [(SDPA, "is_causal")]


def test_no_run_conforms_with_an_argument_that_nothing_graded_shows(report):
    """Every clause of these results is graded, for those that show the mask exercise no other one."""
    passed = [result for result in report.results if result.status == "pass"]
    masks = [result for result in report.results if result.case.shows("mask", result.dtype)]
    mask = [
        each._replace(run=each.run._replace(case=each.case._replace(clauses=passed[0].case.clauses))) for each in masks
    ]
    of_these = replace(report, results=(*passed, *mask))
    assert summarise(of_these.results).conformance == "conforms"
    assert of_these.summary.conformance == "conforms in part"


def test_a_case_shows_an_argument_without_which_its_golden_values_would_be_wrong():
    cases = load_suite(select=["causal/*", "masking/*", "rotary/*", "rejects/*"]).cases.values()
    shown = {
        name: [c.id for c in cases if c.shows(name, "float64")] for name in ("mask", "causal_alignment", "pairing")
    }
    hidden = {
        name: [c.id for c in cases if name in (*c.inputs, *c.attributes) and c.id not in found]
        for name, found in shown.items()
    }
    by_id = {case.id: case for case in cases}
    assert {by_id[each].attributes["causal_alignment"] for each in shown["causal_alignment"]} == {"bottom_right"}
    assert "top_left" in {by_id[each].attributes["causal_alignment"] for each in hidden["causal_alignment"]}
    assert {by_id[each].attributes["pairing"] for each in shown["pairing"]} == {"interleaved"}
    assert len(shown["mask"]) > 50
    for case_id in hidden["mask"]:
        case = by_id[case_id]
        assert case.rejects is not None or case.stored_tolerances.without_effect["mask"], case_id
    all_true = [case for case in cases if "mask" in case.inputs and case.expected and case.inputs["mask"].all()]
    assert all_true
    assert not [case.id for case in all_true if case.inputs["mask"].dtype == np.bool_ and case.shows("mask", "float64")]

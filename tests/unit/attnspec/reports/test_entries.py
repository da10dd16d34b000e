"""Facts read out of a report.json, and failures as every report shows them: by case, or together."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

import attnspec
from attnspec.reports.entries import (
    by_operation,
    diagnosis_lines,
    failure_of,
    rerun_command,
    shown_failures,
    step_sentence,
    wrong_results,
)
from attnspec.reports.formats import print_report, report_to_json
from attnspec.reports.formats.markdown import markdown
from attnspec.reports.wording import diverging_step


def test_wrong_results_are_put_together_by_operation_in_order(student):
    wrong = wrong_results(student)
    assert {result["status"] for result in wrong} == {"fail"}
    assert [result for results in by_operation(wrong).values() for result in results] == wrong
    assert list(by_operation(wrong)) == list(dict.fromkeys(result["operation"] for result in wrong))


def test_the_sentence_on_a_step_is_that_of_the_wording(student):
    wrong = wrong_results(student)[0]
    assert step_sentence(wrong) == diverging_step(wrong["first_step"], wrong["agreeing_steps"]) is not None
    assert step_sentence({**wrong, "first_step": None}) is None


def test_a_mistake_is_reported_with_its_clause_its_remedy_and_what_was_attended(student):
    (entry,) = student["diagnosis"]
    lines = diagnosis_lines({**entry, "facts": ["a fact"], "attended": ["attended keys"]})
    assert lines[0].startswith(f"{entry['sentence']} (this mistake, {entry['mistake']}, reproduces ")
    assert [line.partition(":")[0] for line in lines[1:4]] == [
        f"It breaks {entry['clause']}",
        "What to do",
        f"Erratum {entry['erratum']}",
    ]
    assert lines[4:] == ["attended keys", "a fact"]
    assert len(diagnosis_lines({**entry, "remedy": "", "erratum": None})) == len(lines) - 4


def test_of_an_unknown_mistake_the_facts_come_first(student):
    (entry,) = student["diagnosis"]
    lines = diagnosis_lines(
        {**entry, "clause": None, "sentence": "", "candidates": [], "facts": ["a fact"], "attended": ["keys"]}
    )
    share = f"{entry['explains']} of {entry['of']} failures of {entry['operation']}"
    assert lines == [f"No known mistake explains {share}.", "a fact", "keys"]


@pytest.mark.parametrize(("dtype", "options"), [("float32", " --dtype float32"), ("any", "")])
def test_the_command_that_runs_it_again_selects_case_and_dtype(student, dtype, options):
    document = {
        **student,
        "implementation": {**student["implementation"], "adapter": "./my file.py", "conventions": {}},
    }
    command = rerun_command(document, "core/plain", dtype)
    assert command == f"attnspec validate './my file.py' --select core/plain{options}"


def entry(case, message=None, *, dtype="float64", **given):
    """An entry of a report's results: wrong numbers, or an error with a message."""
    return {
        "case": case,
        "dtype": dtype,
        "status": "fail" if message is None else "error",
        "check": "values" if message is None else None,
        "message": message or "is 1; expected 2",
        "first_step": None,
        "agreeing_steps": [],
        "worst": None,
        "under": None,
        "clauses": ["sdpa.output"],
        "errata": ["E002.input_ranks"],
        **given,
    }


def cases(failures):
    return [failure.cases for failure in failures.by_case], [failure.cases for failure in failures.together]


def test_many_cases_that_ended_alike_are_one_entry():
    raised = [entry(f"case {number}", "raised TypeError") for number in range(4)]
    together = ("case 0", "case 1", "case 2", "case 3")
    assert cases(shown_failures([*raised, entry("wrong")])) == ([("wrong",)], [together])


def test_a_few_are_reported_one_by_one_behind_the_wrong_numbers():
    failures = shown_failures([entry("b", "raised"), entry("a"), entry("c", "raised"), entry("a", dtype="float32")])
    assert cases(failures) == ([("a",), ("b",), ("c",)], [])
    assert failures.by_case[0].dtypes == ("float64", "float32")


def test_one_case_in_many_dtypes_is_one_case():
    raised = [entry("a", "raised", dtype=dtype) for dtype in ("float64", "float32", "float16")]
    assert cases(shown_failures(raised)) == ([("a",)], [])


def test_a_case_may_be_reported_both_ways():
    raised = [entry(name, "raised") for name in "abc"]
    assert cases(shown_failures([entry("a"), *raised])) == ([("a",)], [("a", "b", "c")])


def test_other_conventions_are_other_words():
    raised = [entry(name, "raised", under="fully_masked_row=nan" if name > "c" else None) for name in "abcdef"]
    assert [failure.ending for failure in shown_failures(raised).together] == [
        "raised",
        "raised (graded under fully_masked_row=nan)",
    ]


def test_a_failure_is_reported_in_the_words_for_its_first_dtype():
    worst = {"output": "output", "index": [0, 1], "expected": 2.0, "got": "nan", "error": "nan", "tolerance": 1e-15}
    first = entry("a", first_step="weights", agreeing_steps=["scores"], worst={**worst, "ratio": "inf"})
    failure = failure_of([first, entry("a", dtype="float32")])
    assert failure.message == failure.ending == "is 1; expected 2"
    assert failure.step == "The first step that diverges is 'weights'; scores is right."
    assert failure.worst == "Worst element output[0, 1]: expected 2, got nan, error nan, tolerance 1e-15, ratio inf"
    assert failure.errata == ("E002.input_ranks",)


def test_an_erratum_bears_on_wrong_answers_alone():
    assert failure_of([entry("a", "raised")]).errata == ()


def test_a_status_stands_for_a_missing_message():
    assert failure_of([{**entry("a", "-"), "status": "timeout", "message": ""}]).ending == "timeout"


class NoBfloat16:
    """Wrong for one query, and raising one and the same error in bfloat16."""

    dtypes = ("float64", "bfloat16")

    def scaled_dot_product_attention(self, query, key, value, scale=None):
        if query.dtype != np.float64:
            raise TypeError("invalid data type for einsum")
        scores = query @ key.swapaxes(-1, -2) * (1 / np.sqrt(query.shape[-1]) if scale is None else scale)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        output = exponentials / exponentials.sum(axis=-1, keepdims=True) @ value
        return output + 1 if query.shape[-2] == 1 else output


@pytest.fixture(scope="module")
def report():
    return attnspec.validate(NoBfloat16(), profile="core")


def text_of(report, **options):
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=100), **options)
    return " ".join(stream.getvalue().split())


def test_reports_are_not_flooded(report):
    raised = sum(result.status == "error" for result in report.wrong)
    assert raised > 40
    text = text_of(report)
    assert text.count("invalid data type for einsum") == 1
    assert f"{raised} In bfloat16 alone: It raised TypeError: invalid data type for einsum" in text
    verbose = text_of(report, verbose=True)
    assert f"{raised} cases (bfloat16): error" in verbose
    assert "core/one_query (float64): fail" in verbose
    assert re.search(rf"core/\w+, core/\w+, core/\w+ and {raised - 3} more", verbose)
    page = markdown(report_to_json(report))
    assert page.count("invalid data type for einsum") == 1
    assert f"- {raised} cases (bfloat16), error:" in page

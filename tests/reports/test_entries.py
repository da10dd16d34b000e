"""Facts read out of a report.json."""

import pytest

from attnspec.reports.entries import by_operation, diagnosis_lines, reproduction, step_sentence, wrong_results
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


def test_a_mistake_is_told_with_its_clause_its_remedy_and_what_was_attended(student):
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
    command = reproduction(document, "core/plain", dtype)
    assert command == f"attnspec validate './my file.py' --select core/plain{options}"

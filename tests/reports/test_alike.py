"""Failures that ended in the same words are told together; wrong numbers come first."""

import io

import numpy as np
import pytest
from rich.console import Console

import attnspec
from attnspec.reports import print_report, report_to_json
from attnspec.reports.alike import and_more, told_together
from attnspec.reports.markdown import markdown


def told(*failures):
    by_case, together = told_together(failures, lambda failure: failure[0], lambda failure: failure[1])
    return [[failure[0] for failure in of_case] for of_case in by_case], [len(group) for group in together]


def test_many_cases_that_ended_alike_are_one_entry():
    raised = [(f"case {number}", "raised TypeError") for number in range(4)]
    assert told(*raised, ("wrong", None)) == ([["wrong"]], [4])


def test_a_few_are_told_one_by_one_behind_the_wrong_numbers():
    assert told(("b", "raised"), ("a", None), ("c", "raised"), ("a", None)) == ([["a", "a"], ["b"], ["c"]], [])


def test_one_case_in_many_dtypes_is_one_case():
    assert told(*[("a", "raised")] * 4) == ([["a"] * 4], [])


def test_a_case_may_be_told_both_ways():
    raised = [(name, "raised") for name in "abc"]
    assert told(("a", None), *raised) == ([["a"]], [3])


@pytest.mark.parametrize(("names", "said"), [("abc", ""), ("abcd", " and 1 more"), ("", "")])
def test_what_is_not_named_is_counted(names, said):
    assert and_more(list(names), 3) == said


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


def test_reports_are_not_flooded(report):
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=100))
    text = stream.getvalue()
    raised = sum(result.status == "error" for result in report.wrong)
    assert raised > 40
    assert text.count("invalid data type for einsum") == 1
    assert f"{raised} cases (bfloat16): error" in text
    assert text.index("core/one_query (float64): fail") < text.index(f"{raised} cases (bfloat16): error")
    assert f"core/asked_again, core/equal_keys, core/many_batch_entries and {raised - 3} more" in " ".join(text.split())
    page = markdown(report_to_json(report))
    assert page.count("invalid data type for einsum") == 1
    assert f"- {raised} cases (bfloat16), error:" in page

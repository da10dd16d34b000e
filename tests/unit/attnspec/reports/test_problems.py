"""The distinct problems of a run: every failure belongs to one, and a run with three of them fits a screen."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import attnspec
import attnspec_reference
from attnspec.contract import OPERATIONS
from attnspec.reports.formats import print_report
from attnspec.reports.problems import problems_of
from attnspec.specification import clause_text

IMPLEMENTATIONS = Path(__file__).parents[3] / "examples"
OFFERED = "scaled_dot_product_attention"
STUDENT = str(IMPLEMENTATIONS / "student_softmax_axis_0.py")


def lines_of(report, **options):
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=80, highlight=False, markup=False, emoji=False), **options)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def counts(lines):
    """The numbers in the column of counts, under the heading that they add up to."""
    return [int(line[:4]) for line in lines if line[:4].strip().isdigit() and line[4:6] == "  "]


@pytest.fixture(scope="module")
def three():
    """The report on an implementation with three mistakes, in four dtypes, with every output."""
    report = attnspec.validate(str(IMPLEMENTATIONS / "three_mistakes.py"))
    assert 200 < len(report.wrong) < 400
    return report


@pytest.fixture(scope="module")
def lines(three):
    return lines_of(three)


def test_hundreds_of_failures_of_three_causes_fit_a_screen(lines):
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


def test_each_cause_is_one_sentence_and_their_numbers_add_up(three, lines):
    wrong = len(three.wrong)
    (heading,) = (line for line in lines if line.endswith("went wrong:"))
    assert heading.startswith(f"{wrong} of ")
    assert sum(counts(lines)) == wrong
    assert len(counts(lines)) == 3
    assert f"{heading.removesuffix(':')}, {three.summary.counts['pass']} passed" in " ".join(lines)
    said = " ".join(" ".join(lines).split())
    assert "The sign of ALiBi is wrong: distant keys were favoured. What to do: " in said
    assert "Results have another dtype than they must have. It breaks sdpa.precision.dtype: " in said
    assert "It raised AttributeError: 'float' object has no attribute 'reshape'" in said


def test_the_table_counts_what_the_heading_counts(three, lines):
    tried, passed = 0, 0
    for cell in lines[2].split()[1:]:
        of_dtype = [*map(int, cell.split("/"))]
        passed, tried = passed + of_dtype[0], tried + of_dtype[1]
    assert f"{tried - passed} of {tried} went wrong:" in lines
    assert tried - passed == len(three.wrong)


def test_beside_a_problem_stands_the_case_that_shows_it_best(lines):
    said = " ".join(" ".join(lines).split())
    assert "Such as alibi/both_sides (float64): output[0, 1, 0, 0] is 3.24" in said
    assert said.count("Such as ") == 3


def test_what_was_not_graded_is_one_line(three, lines):
    assert sum("raded" in line for line in lines) == 2, "one line of reasons, and the verdict"
    (line,) = (line for line in lines if line.startswith("Not graded: "))
    families = {operation.family for operation in OPERATIONS.values()} - {"attention"}
    missing = {name for name, operation in OPERATIONS.items() if operation.family == "attention"} - {OFFERED}
    reasons = {
        result.verdict.message
        for result in three.results
        if result.case.operation == OFFERED and result.status not in ("pass", "fail", "error")
    }
    assert "it has no argument 'mask'" in reasons
    more = len(reasons | families)
    assert f"({len(missing)} operations not offered) and {more} more reasons; see --verbose." in line


def test_verbose_shows_more_cases_the_words_of_clauses_and_every_reason(three):
    said = " ".join(" ".join(lines_of(three, verbose=True)).split())
    assert "It breaks sdpa.alibi.distance: With `alibi_slopes`, each logit is lowered" in said
    assert "Not causal: keys to the right are as far away as keys to the left" in said, "the title of the case"
    assert "more cases; --report FILE.json has them all." in said
    assert re.search(r"\d\d cases \(float64, float32, float16, bfloat16\): error raised AttributeError", said)
    assert "not graded: it has no argument 'query_lengths'" in said
    assert "It was called " in said
    assert "more times to measure what it computes" in said


def test_verbose_reports_the_words_of_a_clause_once():
    class Zero:
        dtypes = ("float64",)

        def softmax(self, x, axis=-1):
            return x - x

        def split_heads(self, x, num_heads):
            return x

    said = " ".join(" ".join(lines_of(attnspec.validate(Zero(), profile="documents"), verbose=True)).split())
    assert said.count("The case exercises:") > 1
    assert said.count(f"softmax.definition: {clause_text('softmax.definition')}") == 1
    assert said.count("softmax.definition") > 1


def test_with_one_problem_the_clause_and_the_erratum_are_reported_in_words():
    said = " ".join(" ".join(lines_of(attnspec.validate(STUDENT, select="documents/000/single_head*"))).split())
    assert "It breaks single_head.softmax.keys: The softmax runs over the keys of each query" in said
    assert "Erratum E000.softmax_axis: softmax runs down the queries, not along the keys" in said
    assert "The first step that diverges is 'weights'; query, key, value, scores are right." in said


class AcceptsAll:
    """Refuses nothing, in two operations."""

    dtypes = ("float64",)

    def scaled_dot_product_attention(self, query, key, value):
        try:
            return attnspec_reference.scaled_dot_product_attention(query, key, value)._asdict()
        except ValueError:
            return query

    def multi_head_attention(self, query, key, value, w_query, w_key, w_value, w_output, num_heads):
        arguments = (query, key, value, w_query, w_key, w_value, w_output)
        try:
            return attnspec_reference.multi_head_attention(*arguments, num_heads=num_heads)._asdict()
        except ValueError:
            return query


def test_one_check_that_fails_everywhere_is_one_problem():
    report = attnspec.validate(AcceptsAll(), profile=("rejects", "documents"))
    (problem,) = problems_of(report.wrong, report.diagnosis)
    assert problem.kind == "check"
    assert set(problem.failing_operations) == {"scaled_dot_product_attention", "multi_head_attention"}
    assert len(problem.clauses) > 1
    assert sum(problem.clauses.values()) == len(report.wrong)
    said = " ".join(" ".join(lines_of(report)).split())
    assert "2 operations: Inputs that must be refused were accepted. It breaks " in said


def test_messages_that_differ_in_a_shape_alone_are_one_problem():
    class Raises:
        def softmax(self, x, axis=-1):
            raise ValueError(f"no shape {x.shape} here")

    report = attnspec.validate(Raises(), profile="documents")
    (problem,) = problems_of(report.wrong, report.diagnosis)
    assert problem.kind == "ending"
    assert len({result.verdict.message for result in problem.results}) > 1


def test_what_nothing_explains_comes_last_and_is_counted():
    class Adds:
        dtypes = ("float64",)

        def softmax(self, x, axis=-1):
            return x + 0.125

        def combine_heads(self, x):
            raise ValueError("no")

    report = attnspec.validate(Adds(), profile="documents")
    problems = problems_of(report.wrong, report.diagnosis)
    assert problems[-1].kind == "unexplained"
    assert sum(len(problem.results) for problem in problems) == len(report.wrong)
    assert "softmax: No known mistake explains these." in " ".join(" ".join(lines_of(report)).split())


def test_problems_beyond_those_that_are_shown_are_counted():
    class Raises:
        dtypes = ("float64",)

        def softmax(self, x, axis=-1):
            raise ValueError("abcdefghij"[: 1 + x.size % 8])

    report = attnspec.validate(Raises())
    problems = problems_of(report.wrong, report.diagnosis)
    assert len(problems) > 6
    lines = lines_of(report)
    assert sum(counts(lines)) == len(report.wrong)
    (rest,) = (line for line in lines if "other reasons; --verbose shows them." in line)
    assert f"for {len(problems) - 5} other reasons" in rest

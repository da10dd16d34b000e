"""What a person reads: the console's text and the notebook's table, as snapshots."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

import attnspec
from attnspec.reports.formats import print_report

IMPLEMENTATIONS = Path(__file__).parents[4] / "examples"


def text_of(report: attnspec.Report, *, quiet: bool = False) -> str:
    """Return what the console shows, without padding at the ends of lines and without the paths of this machine."""
    stream = io.StringIO()
    print_report(report, Console(file=stream, width=100, highlight=False, markup=False, emoji=False), quiet=quiet)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return re.sub(r"\d\.\d+\.\d+", "VERSION", "\n".join(lines))


class RefusesNothing:
    """Attention without any check, for what the report says of refusals."""

    name = "refuses nothing"
    version = "1"
    dtypes = ("float64",)

    def scaled_dot_product_attention(self, query, key, value, mask=None, is_causal=False, scale=None):
        return np.full((2, 1, 4, 8), 7.0)


class Hostile:
    """An adapter whose names and messages try to leave their line."""

    name = "<script>alert(1)</script>\x1b[31m\x00\u202e[bold]"
    dtypes = ("float64",)

    def softmax(self, x, axis=-1):
        raise ValueError("<img src=x>\x1b[2J\x07\u202e[red]" + "x" * 10_000)


@pytest.mark.parametrize(
    ("target", "select"),
    [
        ("reference", "documents/*"),
        ("student_softmax_axis_0.py", "documents/000/single_head*"),
        ("student_context_broadcast.py", "documents/003/*"),
    ],
    ids=["reference", "softmax_over_queries", "context_broadcast"],
)
def test_console_reads_well(
    target: str, select: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Commands that are advised name the file as it was typed.
    monkeypatch.chdir(IMPLEMENTATIONS)
    found = f"./{target}" if target.endswith(".py") else target
    # Ratios below 1 depend on the BLAS of the machine, and so do the bits of a query that is called by itself.
    text = re.sub(r"\b0\.\d+\b", "0.…", text_of(attnspec.validate(found, select=select)))
    text = re.sub(r"(Not b|B)atch invariant, queries[^;]+", "Queries …", text)
    assert text == snapshot


def test_console_lists_clauses_where_no_mistake_is_known(snapshot: SnapshotAssertion) -> None:
    report = attnspec.validate(
        RefusesNothing(), select=["documents/002/attention_unmasked", "documents/002/refuses_query_of_rank_2"]
    )
    assert text_of(report) == snapshot


def test_quiet_is_one_line() -> None:
    text = text_of(attnspec.validate("reference", select="documents/001/*"), quiet=True)
    assert text == "attnspec reference VERSION conforms: 29 of 29 passed, every clause graded."


def test_nothing_that_an_adapter_says_leaves_its_line() -> None:
    report = attnspec.validate(Hostile(), select="documents/001/softmax_of_rows")
    console, notebook = text_of(report), report._repr_html_()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", console)
    assert "[red]" in console
    assert max(map(len, console.splitlines())) <= 100
    assert len(console) < 3_000
    assert "<script" not in notebook
    assert "<img" not in notebook
    assert not re.search(r"[\x00-\x1f\u202e]", notebook)
    assert len(notebook) < 5_000


def test_a_long_name_does_not_push_the_verdict_away() -> None:
    adapter = Hostile()
    adapter.name = "a very long name " * 600
    text = text_of(attnspec.validate(adapter, select="documents/001/softmax_of_rows"), quiet=True)
    assert "does not conform: 1 of 1 went wrong" in " ".join(text.split())
    assert len(text) < 200


class RightInSoftmax:
    """A softmax that is right in every dtype."""

    def __init__(self, *dtypes: str) -> None:
        if dtypes:
            self.dtypes = dtypes

    def softmax(self, x, axis=-1):
        numerators = np.exp(x - x.max(axis=axis, keepdims=True))
        return numerators / numerators.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(("dtypes", "said"), [((), True), (("float64", "float32"), False)])
def test_who_declares_no_dtype_learns_that_one_alone_was_graded(dtypes: tuple[str, ...], said: bool) -> None:
    text = text_of(attnspec.validate(RightInSoftmax(*dtypes), select="pairs/softmax*"))
    assert ("Graded in float64 alone" in text) == said

"""The bar of a run: it is drawn from what there is, on a terminal alone, and is gone at the end."""

import io
import re

import pytest
from rich.console import Console

from attnspec.command_line.progress_bar import ProgressBar
from attnspec.command_line.terminal import showing_progress
from attnspec.guard.journal import Journal
from attnspec.targets import load


def drawn(done, planned):
    stream = io.StringIO()
    with ProgressBar(Console(file=stream, force_terminal=True, width=80), lambda: done, lambda: planned) as bar:
        bar.refresh()
        lines = stream.getvalue()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", lines)


@pytest.mark.parametrize(
    ("done", "planned", "said"), [(3, None, "validating"), (3, 8, "validating"), (8, 8, "calling again")]
)
def test_it_says_how_much_of_the_plan_is_done(done, planned, said):
    line = drawn(done, planned)
    assert said in line
    assert f"{done}/{'?' if planned is None else planned}" in line


def test_it_fits_a_line_of_80_columns():
    assert max(map(len, re.split(r"[\r\n]", drawn(12_345, 20_000)))) <= 80


@pytest.mark.parametrize(("is_terminal", "quiet"), [(False, False), (True, True)])
def test_nothing_is_drawn_where_nobody_looks(is_terminal, quiet):
    stream = io.StringIO()
    with showing_progress(Console(file=stream, force_terminal=is_terminal), lambda: 3, lambda: 8, quiet=quiet):
        pass
    assert stream.getvalue() == ""


def test_it_is_drawn_on_a_terminal():
    stream = io.StringIO()
    with showing_progress(Console(file=stream, force_terminal=True, width=80), lambda: 3, lambda: 8, quiet=False):
        pass
    assert "3/8" in stream.getvalue()


def test_a_journal_has_the_declaration_before_the_run_ends():
    journal = Journal.anonymous()
    assert journal.declaration is None
    declaration = load("reference").declaration
    journal.keep_declaration(declaration)
    assert journal.declaration == declaration

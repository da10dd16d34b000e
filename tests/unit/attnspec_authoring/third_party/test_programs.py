"""Programs in other languages: by the protocol and by files, and what is said where they cannot be built."""

import shutil
import sys

import pytest

from attnspec_authoring.results import Implementation, read_implementations
from attnspec_authoring.third_party.programs import run_program

TABLE = read_implementations()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C")
def test_a_program_that_reads_files_is_graded():
    outcome = run_program(TABLE["c"], ["--select=core/plain"])
    assert outcome.problem is None
    assert outcome.version
    assert {(entry["case"], entry["dtype"], entry["status"]) for entry in outcome.results} == {
        ("core/plain", "float64", "pass"),
        ("core/plain", "float32", "pass"),
    }
    assert outcome.report is not None
    assert outcome.report["environment"]["tool"]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_a_program_that_speaks_the_protocol_is_graded():
    outcome = run_program(TABLE["javascript"], ["--select=core/plain"])
    assert {entry["status"] for entry in outcome.results} == {"pass"}


@pytest.mark.parametrize("build", ["no_such_compiler", f"{sys.executable} -c 'raise SystemExit(3)'"])
def test_what_cannot_be_built_says_so(build):
    outcome = run_program(Implementation("c", "mine", "C", "nothing", build=build, command="true", answers="json"))
    assert outcome.results == ()
    assert "no_such_compiler" in outcome.problem or "exit status 3" in outcome.problem

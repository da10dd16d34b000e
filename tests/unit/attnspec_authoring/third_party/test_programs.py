"""Programs in other languages: by the protocol and by files, and what is said where they cannot be built."""

import os
import shutil
import subprocess
import sys

import pytest

from attnspec.command_line import main
from attnspec_authoring.results import Implementation, read_implementations
from attnspec_authoring.third_party.programs import run_program, witnesses_of_program

TABLE = read_implementations()


def needs(tool):
    """Skip a test on a desk without a tool; in CI it fails there."""
    return pytest.mark.skipif(
        shutil.which(tool) is None and "ATTNSPEC_COMPILERS" not in os.environ, reason=f"{tool} is not installed"
    )


@needs("cc")
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


@pytest.mark.parametrize(
    "name", [pytest.param("javascript", marks=needs("node")), pytest.param("rust", marks=needs("rustc"))]
)
def test_a_program_that_speaks_the_protocol_is_graded(name):
    outcome = run_program(TABLE[name], ["--select=core/plain", "--select=rejects/batch_of_*"])
    assert outcome.problem is None
    assert {entry["status"] for entry in outcome.results} <= {"pass", "unsupported"}
    assert sum(entry["status"] == "pass" for entry in outcome.results) > 2


@needs("cc")
def test_a_witness_of_a_program_that_reads_files_runs_again_by_files(tmp_path, capsys):
    tried, witnesses = witnesses_of_program(TABLE["c"], 0.5)
    assert tried > 0
    assert [witness.dtype for witness in witnesses] == ["float32", "float64"]
    program = str(tmp_path / "attention")
    subprocess.run(["cc", "-o", program, "tests/examples/c/attention.c", "-lm"], check=True)
    for witness in witnesses:
        cases = tmp_path / witness.dtype
        assert main(["export", str(cases), "--format=safetensors", f"--select={witness.text}"]) == 0
        subprocess.run([program, *cases.rglob("*.safetensors")], check=True)
        assert main(["grade", str(cases), "-v"]) == 0
        assert f"{witness.ratio:.2g}" in capsys.readouterr().out


@pytest.mark.parametrize("build", ["no_such_compiler", f"{sys.executable} -c 'raise SystemExit(3)'"])
def test_what_cannot_be_built_says_so(build):
    outcome = run_program(Implementation("c", "mine", "C", "nothing", build=build, command="true", answers="json"))
    assert outcome.results == ()
    assert "no_such_compiler" in outcome.problem or "exit status 3" in outcome.problem

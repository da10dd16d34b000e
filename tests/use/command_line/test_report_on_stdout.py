"""``--report -``: stdout is one valid JSON document, whatever else is printed."""

import json
import subprocess
import sys

import pytest

from attnspec.cases import schema_validator
from attnspec.command_line import main

LOUD = """
import os

def softmax(x, axis=-1):
    print("a word of the target")
    os.write(1, b"and one that goes round Python")
    return x
"""
SELECT = ("--select", "documents/001/softmax_*")


@pytest.fixture
def loud(tmp_path):
    path = tmp_path / "loud.py"
    path.write_text(LOUD, "utf-8")
    return str(path)


def document_of(text):
    document = json.loads(text)
    schema_validator("report").validate(document)
    return document


@pytest.mark.parametrize("how", [(), ("--isolate",), ("--jobs", "2")], ids=["guarded", "isolated", "jobs"])
@pytest.mark.parametrize("command", ["validate", "gate"])
def test_stdout_is_one_document_and_the_rest_is_on_stderr(loud, command, how, warm_commands):
    done = warm_commands.run(command, loud, *SELECT, *how, "--report", "-")
    assert done.returncode == 1
    assert document_of(done.stdout)["summary"]["statuses"] == {"fail": 5}
    assert "loud does not " in done.stderr
    assert "Traceback" not in done.stderr


def test_files_are_written_beside_it(loud, tmp_path, warm_commands):
    reports = ("--report", "-", "--report", tmp_path / "report.json", "--report", "-")
    done = warm_commands.run("validate", loud, *SELECT, *reports)
    assert (tmp_path / "report.json").read_text("utf-8") == done.stdout


def test_python_that_replaced_stdout_gets_it_too(capsys):
    assert main(["validate", "reference", *SELECT, "--report", "-"]) == 0
    captured = capsys.readouterr()
    assert document_of(captured.out)["summary"]["conformance"] == "conforms"
    assert "attnspec reference" in captured.err
    print("stdout is as it was")
    assert capsys.readouterr().out == "stdout is as it was\n"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
@pytest.mark.parametrize(("to", "status"), [("| head -c 1", 1), ("> /dev/full", 2)])
def test_a_stdout_that_takes_it_in_part_is_no_traceback(loud, to, status):
    command = f'set -o pipefail; "$0" -P -m attnspec validate "$1" --select "documents/001/softmax_*" --report - {to}'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, loud], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    if status == 2:
        assert "attnspec: The report could not be written to stdout: No space left on device." in done.stderr

"""What attnspec says, word for word, against the archive of what it said before; and that a change is noticed."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "tools" / "benchmarks" / "same_reports.py"
ARCHIVE = Path(__file__).with_name("reports.tar.xz")
STUDENT = "student_heads_reshaped"


def run(*words: str) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, encoding="utf-8", check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """What was kept of one student, to be changed."""
    with tarfile.open(ARCHIVE) as packed:
        members = [member for member in packed if member.name.startswith((STUDENT, "versions"))]
        packed.extractall(tmp_path / "recorded", members, filter="data")
    return tmp_path / "recorded"


def compare(recorded: Path, table: str = "") -> tuple[int, str]:
    written = recorded.with_name("table.toml")
    written.write_text(table, encoding="utf-8")
    return run("compare", "--only", STUDENT, "--recorded", str(recorded), "--table", str(written))


def test_students_and_wrong_functions_are_answered_in_the_same_words():
    status, said = run("compare", "--only", "students,wrong", "--without-figures")
    assert status == 0, said


def test_a_result_that_changes_is_named(recorded):
    path = recorded / STUDENT / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    changed = next(result for result in report["results"] if result["status"] == "fail")
    changed["status"] = "pass"
    path.write_text(json.dumps(report), encoding="utf-8")
    status, said = compare(recorded)
    assert status == 1
    assert f"report.json result.status: {STUDENT} {changed['case']} ({changed['dtype']})" in said
    assert "before: fail\n  now:    pass" in said


def test_an_exit_status_that_changes_is_named(recorded):
    (recorded / STUDENT / "exit_status.txt").write_text("0\n", encoding="utf-8")
    status, said = compare(recorded)
    assert status == 1
    assert f"exit_status.txt: {STUDENT}\n  before: 1\n  now:    0" in said


def test_a_word_that_changes_is_named_until_the_table_has_it(recorded):
    """The word is longer than the old one, so that lines of the console break elsewhere."""
    for path in (recorded / STUDENT).iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace(" within ", " no farther than "), encoding="utf-8")
    status, said = compare(recorded)
    assert status == 1
    assert "before: within\n  now:    no farther than" in said
    renamed = '[[renamed]]\nbefore = "within"\nnow = "no farther than"\n'
    status, said = compare(recorded, renamed)
    assert status == 0, said
    assert "renamed 0 times" not in said
    status, said = compare(recorded, '[[explained]]\nbefore = "within"\nnow = "no*"\nreason = "a plainer word"\n')
    assert status == 0
    assert "times: a plainer word" in said
    assert compare(recorded, "".join(renamed.replace("within", f"within{number}") for number in range(61)))[0] == 1

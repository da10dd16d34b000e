"""`attnspec validate TARGET --rerun-failed report.json`: only what went wrong there, in the dtypes in which it did."""

import json

import pytest

from attnspec.command_line import main

FILE = """
import numpy as np
from attnspec_reference import causal_mask, softmax as right

dtypes = ("float64", "float32")
calls = __import__("pathlib").Path(__file__).with_suffix(".calls")


def softmax(x, axis=-1):
    with calls.open("a") as file:
        file.write(f"{x.dtype}\\n")
    wrong = WRONG
    return right(x, axis=axis) + wrong
"""
IN_FLOAT32 = 'x.dtype.type(0.25 if x.dtype == "float32" and x.ndim == 2 else 0)'


@pytest.fixture
def mine(tmp_path):
    def write(wrong):
        path = tmp_path / "mine.py"
        path.write_text(FILE.replace("WRONG", wrong), "utf-8")
        path.with_suffix(".calls").write_text("", "utf-8")
        return str(path)

    return write


@pytest.fixture
def validate(tmp_path, capsys):
    """Validate, and return exit status, what was printed, and the results of the report."""

    def run(target, *words, report="new.json"):
        path = tmp_path / report
        status = main(["validate", target, "--report", str(path), *words])
        captured = capsys.readouterr()
        results = json.loads(path.read_text("utf-8"))["results"] if path.exists() else []
        return status, " ".join((captured.out + captured.err).split()), results

    return run


def keys(results):
    return {(result["case"], result["dtype"]) for result in results}


@pytest.fixture
def failed(mine, validate, tmp_path):
    """A report in which some cases went wrong in float32 alone."""
    status, _, results = validate(mine(IN_FLOAT32), "--select", "documents/00[12]/*", report="old.json")
    assert status == 1
    wrong = keys(result for result in results if result["status"] == "fail")
    assert wrong
    assert {dtype for _, dtype in wrong} == {"float32"}
    return tmp_path / "old.json", wrong


def test_what_went_wrong_is_run_again_and_nothing_else(failed, mine, validate):
    report, wrong = failed
    target = mine(IN_FLOAT32)
    status, out, results = validate(target, "--rerun-failed", str(report))
    assert status == 1
    assert keys(results) == wrong
    assert f"Run again: the {len({case for case, _ in wrong})} cases that went wrong in {report}." in out
    calls = (report.parent / "mine.calls").read_text("utf-8").split()
    assert set(calls) == {"float32"}


def test_what_is_mended_passes(failed, mine, validate):
    report, wrong = failed
    status, _, results = validate(mine("x.dtype.type(0)"), "--rerun-failed", str(report))
    assert status == 0
    assert keys(results) == wrong
    assert {result["status"] for result in results} == {"pass"}


def test_a_selection_narrows_it_further(failed, mine, validate):
    report, wrong = failed
    case = min(case for case, _ in wrong)
    status, out, results = validate(mine(IN_FLOAT32), "--rerun-failed", str(report), "--select", case)
    assert keys(results) == {(case, "float32")}
    assert (status, "Run again: the one case that went wrong" in out) == (1, True)


def edited(report, change):
    document = json.loads(report.read_text("utf-8"))
    change(document)
    report.write_text(json.dumps(document), "utf-8")


def test_a_case_that_is_not_there_any_more_is_named(failed, mine, validate):
    report, wrong = failed
    gone = min(wrong)

    def rename(document):
        document["suite"]["digest"] = "0" * 64
        for result in document["results"]:
            if result["case"] == gone[0]:
                result["case"] = "documents/001/vanished"

    edited(report, rename)
    status, out, results = validate(mine(IN_FLOAT32), "--rerun-failed", str(report))
    assert (status, keys(results)) == (1, wrong - {gone})
    assert "Not selected, or not there any more: documents/001/vanished." in out
    assert "The report was made with another suite." in out


def test_a_report_of_which_nothing_is_left_runs_nothing(failed, mine, validate):
    report, _ = failed

    def rename(document):
        document["suite"]["digest"] = "0" * 64
        for index, result in enumerate(document["results"]):
            result["case"] = f"documents/001/vanished_{index}"

    edited(report, rename)
    status, out, results = validate(mine(IN_FLOAT32), "--rerun-failed", str(report))
    assert (status, results) == (2, [])
    assert "none is selected here. The report was made with another suite." in out


def test_a_report_in_which_nothing_went_wrong_is_no_success(mine, validate, tmp_path):
    target = mine("x.dtype.type(0)")
    assert validate(target, "--select", "documents/001/*", report="old.json")[0] == 0
    status, out, results = validate(target, "--rerun-failed", str(tmp_path / "old.json"))
    assert (status, results) == (2, [])
    assert "nothing went wrong there, so that there is nothing to run again." in out


def test_a_case_that_is_offered_no_more_in_its_dtype_is_not_run(failed, mine, validate):
    report, _ = failed

    def narrow(document):
        document["results"] = [result for result in document["results"] if result["status"] == "fail"][:1]
        document["results"][0]["dtype"] = "float16"
        document["count"] = 1

    edited(report, narrow)
    status, out, results = validate(mine(IN_FLOAT32), "--rerun-failed", str(report))
    assert (status, results) == (2, [])
    assert "of the one case that went wrong there, none is selected here" in out


def test_a_dtype_in_which_nothing_went_wrong_is_said(failed, mine, validate):
    status, out, _ = validate(mine(IN_FLOAT32), "--rerun-failed", str(failed[0]), "--dtype", "float64")
    assert status == 2
    assert "nothing went wrong there in float64" in out


def test_a_case_without_floats_is_run_again(tmp_path, validate):
    path = tmp_path / "masks.py"
    path.write_text(
        "import numpy as np\n"
        "def causal_mask(query_length, key_length=None, offset=0, additive=False):\n"
        "    return np.zeros((query_length, key_length or query_length), bool)\n",
        "utf-8",
    )
    select = ("--select", "documents/002/causal_mask*")
    _, _, before = validate(str(path), *select, report="old.json")
    wrong = keys(result for result in before if result["status"] == "fail")
    _, _, after = validate(str(path), "--rerun-failed", str(tmp_path / "old.json"))
    assert {dtype for _, dtype in wrong} == {"any"}
    assert keys(after) == wrong


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--resume", "kept"), "--rerun-failed and --resume"),
        ((), "cannot be read (No such file or directory)"),
    ],
)
def test_what_cannot_be_run_again_ends_with_2(words, sentence, mine, validate, tmp_path):
    status, out, _ = validate(mine("0"), "--rerun-failed", str(tmp_path / "none.json"), *words)
    assert status == 2
    assert sentence in out

"""Known failures in runs of pytest with this plugin, as `attnspec gate` keeps them."""

import json

import pytest

from attnspec.command_line import main

pytest_plugins = ["pytester"]

SELECT = "documents/001/softmax_*"
COLUMNS = "documents/001/softmax_of_columns"
WHOLE = "documents/001/softmax_of_whole_array"

MINE = """
import numpy as np

name = "mine"
dtypes = {dtypes}

def softmax(x, axis=-1):
    if axis == 0:
        {columns}
    if axis is None:
        {whole}
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""

UNCHANGED = {
    "dtypes": '("float64", "float32")',
    "columns": "raise NotImplementedError('no columns')",
    "whole": "return x",
}


@pytest.fixture
def baseline(run, pytester):
    """Run an implementation of which columns are unsupported and the whole array is wrong, as its baseline says."""

    def write(**changes):
        pytester.makepyfile(mine=MINE.format(**{**UNCHANGED, **changes}))

    write()
    assert main(["gate", "mine.py", f"--select={SELECT}", "--baseline=mine.json", "--update-baseline"]) == 0
    path = pytester.path / "mine.json"

    def run_against(*options, reasons=None, **changes):
        if reasons is not None:
            path.write_text(reasons(path.read_text("utf-8")), "utf-8")
        write(**changes)
        arguments = ("--attnspec=mine.py", f"--attnspec-select={SELECT}", "--attnspec-baseline=mine.json", *options)
        return run(*arguments, apart=True)

    return run_against


def explained(text):
    """Write a reason beside every entry."""
    return text.replace("not yet explained", "it is for later")


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n2")])
def test_what_the_baseline_says_is_expected_for_its_reasons(baseline, options):
    result = baseline("-rsx", *options, reasons=explained)
    assert result.ret == pytest.ExitCode.OK
    outcomes = result.parseoutcomes()
    assert (outcomes["xfailed"], outcomes["skipped"]) == (2, 2)
    assert outcomes["passed"] > 3
    result.stdout.fnmatch_lines(["SKIPPED ?2?*: it is for later", f"XFAIL *{WHOLE}?float64? - it is for later"])
    result.stdout.no_fnmatch_line("*what went wrong*")


def test_where_nobody_gave_a_reason_the_implementations_own_is_reported(baseline):
    baseline("-rs").stdout.fnmatch_lines(["SKIPPED ?2?*: no columns"])


def test_a_new_failure_fails(baseline):
    result = baseline(columns="return x")
    assert result.parseoutcomes()["failed"] == 2
    result.stdout.fnmatch_lines(
        [f"_* {COLUMNS}?float64? _*", "In the baseline, it was unsupported, and ends in fail now:*"]
    )


def test_an_entry_that_passes_now_fails(baseline):
    result = baseline(whole="pass")
    assert result.parseoutcomes()["failed"] == 2
    result.stdout.fnmatch_lines(
        [
            f"_* {WHOLE}?float64? _*",
            "In the baseline, it is listed as fail and passes now; `attnspec gate` takes that",
            "in with --update-baseline",
        ]
    )
    result = baseline(columns="pass")
    assert result.parseoutcomes()["failed"] == 2
    result.stdout.fnmatch_lines(["In the baseline, it was unsupported and passes now;*"])


def test_an_entry_that_goes_wrong_otherwise_fails(baseline):
    result = baseline(whole="raise ValueError('other')")
    assert result.parseoutcomes()["failed"] == 2
    result.stdout.fnmatch_lines(["E   ValueError: other", "In the baseline, it is listed as fail, but ends in error:*"])


def test_what_is_unsupported_without_an_entry_fails(baseline):
    result = baseline(whole="raise NotImplementedError('gone')")
    assert result.parseoutcomes()["failed"] == 2
    result.stdout.fnmatch_lines(["In the baseline, it is listed as fail and is unsupported now: gone"])


def test_a_dtype_that_is_gone_fails_as_one_test(baseline):
    result = baseline(dtypes='("float64",)')
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(
        ["_* mine.json _*", "float32 the dtype was offered before*", "FAILED attnspec/baseline::mine.json*"]
    )
    alone = baseline("attnspec/baseline::mine.json", dtypes='("float64",)')
    assert alone.parseoutcomes() == {"failed": 1}


def test_an_entry_without_a_case_fails_as_one_test(baseline):
    result = baseline(reasons=lambda text: text.replace(f"{WHOLE}", "documents/001/gone"))
    result.stdout.fnmatch_lines(["documents/001/gone is listed, but there is no such case"])


def test_a_baseline_of_something_else_is_a_sentence(baseline):
    renamed = baseline(reasons=lambda text: json.dumps(json.loads(text) | {"implementation": OTHER}))
    assert renamed.ret == pytest.ExitCode.INTERRUPTED
    renamed.stdout.fnmatch_lines(["attnspec: The baseline is of 'other', but this is 'mine'*"])


OTHER = {"name": "other", "operations": ["softmax"], "dtypes": ["float64"], "conventions": {}}


def test_a_missing_baseline_is_a_sentence(run):
    result = run("--attnspec=right.py", "--attnspec-baseline=gone.json")
    result.stdout.fnmatch_lines(["attnspec: There is no baseline 'gone.json'*"])
    result.stdout.no_fnmatch_line("*Traceback*")

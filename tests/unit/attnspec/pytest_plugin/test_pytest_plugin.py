"""The pytest plugin, in runs of pytest of its own."""

import re
import sys
import tomllib
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

import attnspec
from attnspec.cases import load_suite

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[4]
SOFTMAX = "--attnspec-select=documents/001/softmax_*"
ROWS = "documents/001/softmax_of_rows"


def ids(result):
    """The node ids that ``--collect-only -q`` prints."""
    return [line for line in result.outlines if "::" in line]


def test_the_entry_point_is_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"attnspec": "attnspec.pytest_plugin"}
    plugin = import_module(project["entry-points"]["pytest11"]["attnspec"])
    assert {"pytest_addoption", "pytest_configure"} <= {*dir(plugin)}


def test_without_the_option_nothing_is_imported_and_nothing_collected(run, pytester):
    pytester.makepyfile(
        test_own="""
        import sys
        def test_own():
            loaded = {*sys.modules}
            assert "attnspec.pytest_plugin" in loaded
            assert not loaded & {"numpy", "rich", "click", "jsonschema", "attnspec.cases", "attnspec_reference"}
            assert "attnspec.pytest_plugin.collecting" not in loaded
        """
    )
    run(apart=True).assert_outcomes(passed=1)


def test_an_item_is_a_case_in_a_dtype_named_by_its_id(run):
    result = run("--attnspec=right.py", SOFTMAX, "--attnspec-dtype=float64", "--attnspec-dtype=float32", "-vv")
    names = [line.split()[0] for line in result.outlines if " PASSED " in line]
    assert f"attnspec/documents::{ROWS}[float64]" in names
    assert {name.partition("[")[2] for name in names} == {"float64]", "float32]"}
    result.assert_outcomes(passed=len(names), failed=0)
    assert result.ret == pytest.ExitCode.OK
    # Very verbose output says which golden file holds the case.
    result.stdout.fnmatch_lines([f"*{ROWS}?float64? <- *golden/{ROWS}.json PASSED*"])


def test_the_same_verdicts_as_of_the_command(run, pytester):
    report = attnspec.validate(str(pytester.path / "wrong.py"), profile="documents")
    result = run("--attnspec=wrong.py", "--attnspec-profile=documents", "-q")
    counts = report.summary.counts
    assert counts["fail"] > 3
    result.assert_outcomes(
        passed=counts.get("pass", 0), failed=len(report.wrong), skipped=counts["unsupported"], errors=0
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_failure_is_reported_shortly_and_what_failures_share_once_at_the_end(run):
    result = run("--attnspec=wrong.py", "--attnspec-select=documents/001/softmax_of_rows")
    result.stdout.fnmatch_lines(
        [
            f"_* {ROWS}?float64? _*",
            "output?*? is *; expected * within * (the error",
            "is * times that)*",
            "Softmax of a 3x4 array along each row",
            "*it is softmax.*: The *",
            f"Debug it: pytest --attnspec=wrong.py 'attnspec/documents::{ROWS}?float64?' --pdb",
            f"_* {ROWS}?float32? _*",
            "It is softmax.* again.",
            "=* what went wrong =*",
            "softmax: 2 went wrong",
            "  *reproduces 2 of 2 failures*",
            "  It breaks softmax.*: *",
            "  What to do: *",
            f"FAILED attnspec/documents::{ROWS}?float64?*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*WrongResultError*")


@pytest.mark.parametrize(("site", "links"), [("https://attnspec.example", 1), ("", 0)])
def test_failures_end_with_one_link_to_a_clause(site, links, run, monkeypatch):
    monkeypatch.setenv("ATTNSPEC_SITE", site)
    text = run("--attnspec=wrong.py", f"--attnspec-select={ROWS}").stdout.str()
    assert text.count("://") == links, "a file of this machine is linked on a terminal alone"
    if links:
        assert re.search(r"^(softmax\.[\w.]+): https://attnspec\.example/clauses/\1\.html$", text, re.MULTILINE)


def test_many_failures_stay_short(run, pytester):
    pytester.makepyfile(
        zeros="import numpy as np\ndef scaled_dot_product_attention(query, key, value):\n"
        "    return np.zeros((*query.shape[:-1], value.shape[-1]))\n"
    )
    result = run("--attnspec=zeros.py", "--attnspec-profile=core")
    failed = result.parseoutcomes()["failed"]
    assert failed > 25
    text = result.stdout.str()
    of_failures = text[text.index("= FAILURES =") : text.index("= what went wrong =")].splitlines()[1:]
    headings = [index for index, line in enumerate(of_failures) if line.startswith("__")]
    assert len(headings) == failed
    assert max(later - former for former, later in pairwise([*headings, len(of_failures)])) <= 12
    assert max(len(line) for line in of_failures if not line.startswith("Debug it: ")) <= 80
    result.stdout.fnmatch_lines([f"scaled_dot_product_attention: {failed} went wrong"])
    assert text.count("What to do:") <= 1


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n2")], ids=["alone", "distributed"])
@pytest.mark.parametrize("on_ci", [True, False])
def test_the_short_summary_has_a_line_for_each_failure(run, monkeypatch, on_ci, options):
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    if on_ci:
        monkeypatch.setenv("CI", "true")
    result = run("--attnspec=wrong.py", "--attnspec-select=documents/001/softmax_*", *options)
    heading = next(number for number, line in enumerate(result.outlines) if "short test summary" in line)
    lines = result.outlines[heading + 1 : -1]
    assert len(lines) == result.parseoutcomes()["failed"] > 2
    for line in lines:
        assert line.startswith("FAILED attnspec/documents::documents/001/softmax_")
        assert " - output[" in line


def test_a_line_for_each_failure_where_lines_are_requested(run):
    result = run("--attnspec=wrong.py", f"--attnspec-select={ROWS}", "--tb=line")
    result.stdout.fnmatch_lines([f"*golden/{ROWS}.json:1: output?*? is *"])
    result.stdout.no_fnmatch_line("What to do: *")


def test_what_is_not_offered_is_skipped_with_the_reason(run):
    result = run("--attnspec=right.py", SOFTMAX, "--attnspec-select=documents/002/combine_heads", "-rs")
    assert result.parseoutcomes()["skipped"] == 2
    result.stdout.fnmatch_lines(["SKIPPED ?2?*: combine_heads is not offered"])


def test_what_is_skipped_for_one_reason_is_counted_in_one_line(run):
    names = [f"--attnspec-select={profile}" for profile in ("documents/002/*heads*", "masking/*")]
    result = run("--attnspec=right.py", SOFTMAX, *names, "--attnspec-dtype=float64", "-rs")
    lines = [line for line in result.outlines if line.startswith("SKIPPED [")]
    assert len(lines) > 3
    assert len({line.rpartition(": ")[2] for line in lines}) == len(lines)
    counts = [int(line.partition("[")[2].partition("]")[0]) for line in lines]
    assert sum(counts) == result.parseoutcomes()["skipped"]


def test_what_was_printed_and_logged_is_shown_with_a_failure(run, pytester, right):
    pytester.makepyfile(
        says=right + "\nimport logging\nright = softmax\ndef softmax(x, axis=-1):\n    print('printed')\n"
        "    logging.getLogger('mine').warning('logged')\n    return right(x, 0)\n"
    )
    result = run("--attnspec=says.py", SOFTMAX, "--attnspec-dtype=float64")
    failed = result.parseoutcomes()["failed"]
    assert failed > 1
    for heading, said in (("stdout", "printed"), ("log", "*logged")):
        result.stdout.fnmatch_lines([f"-* Captured {heading} call -*", said])
        assert sum(f"Captured {heading} call" in line for line in result.outlines) == failed


def test_hooks_of_a_conftest_around_each_test_are_called(run, pytester):
    pytester.makeconftest(
        "def pytest_runtest_setup(item):\n    print('set up')\n\n"
        "def pytest_runtest_teardown(item):\n    print('torn down')\n"
    )
    result = run("--attnspec=right.py", SOFTMAX, "--attnspec-select=documents/002/combine_heads", "-s")
    text, outcomes = result.stdout.str(), result.parseoutcomes()
    assert outcomes["skipped"] == 2
    assert text.count("set up") == text.count("torn down") == outcomes["passed"] + 2


def test_tests_that_a_conftest_skips_stand_beside_the_others(run, pytester):
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in {item.parent: item for item in reversed(items)}.values():
                item.add_marker(pytest.mark.skip(reason="by hand"))
        """
    )
    profiles = ("--attnspec-select=documents/001/*", "--attnspec-select=memory/softmax_fortran_*")
    result = run("--attnspec=right.py", *profiles, "--attnspec-dtype=float64", "-rs")
    assert sum(line.startswith("SKIPPED [1]") and line.endswith(": by hand") for line in result.outlines) == 2
    assert result.parseoutcomes().keys() == {"passed", "skipped"}


def test_a_run_that_graded_nothing_has_failed(run):
    result = run("--attnspec=right.py", "--attnspec-select=documents/002/combine_heads")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*nothing could be graded*"])


def test_without_paths_no_other_test_is_collected(run, pytester):
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    pytester.makeini(f"[pytest]\ntestpaths = {pytester.path / 'test_own.py'}\n")
    alone = ids(run("--attnspec=right.py", SOFTMAX, "--collect-only", "-q"))
    assert len(alone) > 5
    assert all(name.startswith("attnspec/documents::documents/001/softmax_") for name in alone)
    both = ids(run("--attnspec=right.py", SOFTMAX, "--collect-only", "-q", "test_own.py"))
    assert sorted(both) == sorted([*alone, "test_own.py::test_own"])
    assert ids(run("--collect-only", "-q")) == ["test_own.py::test_own"]


def test_an_option_in_a_configuration_file_adds_to_the_other_tests(run, pytester):
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    pytester.makeini(f"[pytest]\naddopts = --attnspec=right.py {SOFTMAX}\n")
    found = ids(run("--collect-only", "-q"))
    assert "test_own.py::test_own" in found
    assert len(found) > 5
    run("-p", "xdist", "-n", "1", apart=True).assert_outcomes(passed=len(found))


def test_k_and_printed_ids_select(run):
    by_keyword = run("--attnspec=right.py", SOFTMAX, "-k", "rows and float32")
    assert by_keyword.parseoutcomes()["passed"] == 1
    by_operation = run("--attnspec=reference", "--attnspec-select=documents/002/*", "-k", "causal_mask")
    assert 0 < by_operation.parseoutcomes()["passed"] < 10
    printed = f"attnspec/documents::{ROWS}[float32]"
    assert ids(run("--attnspec=right.py", "--collect-only", "-q", printed)) == [printed]
    # Where pytest's root folder is another one than the working folder, it prints the way there.
    assert ids(run("--attnspec=right.py", "--collect-only", "-q", f"../{printed}")) == [printed]
    whole = ids(run("--attnspec=right.py", "--collect-only", "-q", f"attnspec/documents::{ROWS}"))
    assert whole == [f"attnspec/documents::{ROWS}[float64]", printed]


def test_a_path_of_the_users_own_is_not_taken_for_a_case(run, pytester):
    folder = pytester.mkdir("attnspec")
    (folder / "test_own.py").write_text("def test_own():\n    pass\n", "utf-8")
    result = run("--attnspec=right.py", SOFTMAX, "--collect-only", "-q", "attnspec/test_own.py::test_own")
    assert "attnspec/test_own.py::test_own" in ids(result)
    assert len(ids(result)) > 5


def test_it_runs_under_xdist(run):
    result = run("-p", "xdist", "-n", "2", "--attnspec=wrong.py", SOFTMAX, apart=True)
    alone = run("--attnspec=wrong.py", SOFTMAX)
    outcomes = alone.parseoutcomes()
    assert outcomes["failed"] >= 2
    result.assert_outcomes(passed=outcomes["passed"], failed=outcomes["failed"])
    said = [other.outlines[other.outlines.index("softmax: 8 went wrong") :] for other in (result, alone)]
    assert said[0][:8] == said[1][:8]
    assert any(line.startswith("  It breaks softmax.") for line in said[0][:8])


def test_nothing_graded_is_seen_under_xdist_too(run):
    result = run(
        *("-p", "xdist", "-n", "1", "--attnspec=right.py", "--attnspec-select=documents/002/combine_heads"), apart=True
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*nothing could be graded*"])


def test_junitxml_has_a_testcase_an_item(run, pytester):
    run("--attnspec=wrong.py", SOFTMAX, "--attnspec-select=documents/002/combine_heads", "--junitxml=junit.xml")
    (suite,) = JUnitXml.fromfile(str(pytester.path / "junit.xml"))
    cases = {case.name: case for case in suite}
    assert len(cases) == suite.tests
    assert {case.classname for case in cases.values()} == {"attnspec.documents"}
    (failure,) = cases[f"{ROWS}[float64]"].result
    assert isinstance(failure, Failure)
    assert "softmax.first_axis_always" in failure.text
    assert " ".join(failure.text.split()).startswith(failure.message)
    assert "\n" not in failure.message
    (skipped,) = cases["documents/002/combine_heads[float64]"].result
    assert isinstance(skipped, Skipped)
    assert skipped.message == "combine_heads is not offered"
    assert not any(isinstance(entry, Error) for case in cases.values() for entry in case.result)


def test_a_refusal_is_graded_with_its_counterpart(run, pytester):
    pytester.makepyfile(
        refuses="def scaled_dot_product_attention(query, key, value):\n    raise ValueError('no')\n",
        accepts="def scaled_dot_product_attention(query, key, value):\n    return value\n",
    )
    select = "--attnspec-select=documents/002/refuses_query_of_rank_2"
    (case,) = load_suite(select=["documents/002/refuses_query_of_rank_2"]).cases.values()
    count = len(case.dtypes)
    run("--attnspec=reference", select).assert_outcomes(passed=count)
    all_refused = run("--attnspec=refuses.py", select, "-rs")
    all_refused.assert_outcomes(skipped=1)
    all_refused.stdout.fnmatch_lines(["SKIPPED*the valid counterpart * did not pass, so a refusal says nothing"])
    accepted = run("--attnspec=accepts.py", select)
    accepted.assert_outcomes(failed=1)
    accepted.stdout.fnmatch_lines(["accepted what it must refuse: *"])


def test_an_edited_input_and_an_answer_that_changes_are_failures(run, pytester, right):
    pytester.makepyfile(
        edits=right + "\nright = softmax\ndef softmax(x, axis=-1):\n    y = right(x, axis)\n    x += 1\n    return y\n",
        counts=right
        + "\nright, calls = softmax, []\ndef softmax(x, axis=-1):\n"
        + "    calls.append(1)\n    return right(x, axis) * (1 if len(calls) % 2 else 2)\n",
    )
    edits = run("--attnspec=edits.py", f"--attnspec-select={ROWS}")
    edits.assert_outcomes(failed=2)
    edits.stdout.fnmatch_lines(["*input*x*"])
    counts = run("--attnspec=counts.py", f"--attnspec-select={ROWS}")
    counts.assert_outcomes(failed=2)
    counts.stdout.fnmatch_lines(["a second call with the same inputs*"])


def test_options_are_passed_on(run, pytester):
    pytester.makepyfile(
        own="""
        import numpy as np
        def attend(Q, key, value):
            scores = np.einsum("bqhe,bkhe->bhqk", Q, key) / np.sqrt(Q.shape[-1])
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            return np.einsum("bhqk,bkhe->bqhe", weights / weights.sum(axis=-1, keepdims=True), value)
        """
    )
    result = run(
        *("--attnspec=own.py:attend", "--attnspec-as=scaled_dot_product_attention", "--attnspec-layout=bshe"),
        *("--attnspec-rename=Q=query", "--attnspec-convention=input_checks=lenient"),
        "--attnspec-select=documents/002/attention_unmasked",
    )
    result.assert_outcomes(passed=1)


def test_a_target_that_ends_its_process_costs_its_case_alone(run, pytester, right):
    pytester.makepyfile(
        crashes=right + "\nimport os\nright = softmax\ndef softmax(x, axis=-1):\n"
        "    if axis == 0:\n        os._exit(7)\n    return right(x, axis)\n"
    )
    result = run("--attnspec=crashes.py", "--attnspec-timeout=20", SOFTMAX, "--attnspec-dtype=float64")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes["passed"] >= 3
    result.stdout.fnmatch_lines(["crash: the process ended with exit code 7*"])


def test_a_program_is_validated(run):
    program = f"--attnspec-command={sys.executable} -P -m attnspec.process.serving -- right.py"
    count = len(ids(run(program, SOFTMAX, "--attnspec-dtype=float64", "--collect-only", "-q")))
    assert count > 3
    run(program, SOFTMAX, "--attnspec-dtype=float64").assert_outcomes(passed=count)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--attnspec=gone.py"], "attnspec: There is no file 'gone.py'*"),
        (["--attnspec=right.py", "--attnspec-profile=docs"], "attnspec: There is no profile 'docs'*"),
        (["--attnspec=right.py", "--attnspec-select=nothing"], "attnspec: No case matches 'nothing'*"),
        (["--attnspec=right.py", "--attnspec-dtype=float8", SOFTMAX], "attnspec: There is no dtype 'float8'*"),
        (
            ["--attnspec=right.py", "--attnspec-convention=mood", SOFTMAX],
            "*--attnspec-convention mood: write it as NAME=VALUE.",
        ),
        (["--attnspec=right.py", "--attnspec-command=x", SOFTMAX], "attnspec: --attnspec is for Python targets*"),
        (["--attnspec-command=no_such_program x", SOFTMAX], "attnspec: The command 'no_such_program x' cannot be run*"),
        (["--attnspec=right.py", "--attnspec-timeout=9", "--attnspec-layout=ehsb"], "*There is no layout 'ehsb'*"),
        (["--attnspec=right.py", "--attnspec-layout=ehsb", SOFTMAX], "attnspec: There is no layout 'ehsb'*"),
        (["--attnspec=right.py", "--attnspec-golden=gone"], "attnspec: There is no folder of golden files at gone*"),
        (
            ["--attnspec=right.py", "attnspec/documents::documents/009/gone"],
            "*no case is named attnspec/documents::documents/009/gone*",
        ),
    ],
)
def test_bad_input_is_a_sentence(arguments, sentence, run):
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([sentence])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_hostile_messages_stay_on_their_lines(run, pytester):
    pytester.makepyfile(
        hostile="""
        def softmax(x, axis=-1):
            raise ValueError("\\x1b[2J\\x00\\u202e\\ud800<script>" + "x" * 10_000)
        def combine_heads(x):
            from attnspec import Unsupported
            raise Unsupported("\\x1b[2J\\x00\\u202e\\ud800 not today")
        """
    )
    select = (f"--attnspec-select={ROWS}", "--attnspec-select=documents/002/combine_heads")
    result = run("--attnspec=hostile.py", *select, "-rs", "--junitxml=junit.xml")
    text = result.stdout.str()
    assert not any(character in text for character in "\x1b\x00\u202e\ud800")
    assert "<script>" in text
    assert len(text) < 5_000
    result.assert_outcomes(failed=1, skipped=1)
    assert JUnitXml.fromfile(str(pytester.path / "junit.xml"))


AVERAGE = """
import numpy as np

dtypes = ("float64", "bfloat16")

def scaled_dot_product_attention(query, key, value, scale=None):
    mean = value.astype(np.float64).mean(axis=-2, keepdims=True)
    return np.broadcast_to(mean, (*query.shape[:-1], value.shape[-1])).astype(query.dtype)
"""


def test_where_no_element_is_graded_the_item_says_so_and_passes(run, pytester):
    pytester.makepyfile(average=AVERAGE)
    result = run("--attnspec=average.py", "--attnspec-select=stress/raw_products_beyond_float16", "-v")
    assert result.parseoutcomes() == {"passed": 1, "ungraded": 1}
    result.stdout.fnmatch_lines(["*raw_products_beyond_float16?bfloat16? UNGRADED*"])
    assert result.ret == pytest.ExitCode.OK


def test_a_run_of_which_nothing_was_graded_has_failed(run, pytester):
    pytester.makepyfile(average=AVERAGE)
    select = "--attnspec-select=stress/raw_products_beyond_float16"
    result = run("--attnspec=average.py", select, "--attnspec-dtype=bfloat16")
    assert result.parseoutcomes() == {"ungraded": 1}
    result.stdout.fnmatch_lines(["attnspec: nothing could be graded*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_the_header_says_that_nothing_guards_this_process(run):
    said = "attnspec: TARGET runs in this process, unprotected; `attnspec validate` guards its runs"
    assert said in run("--attnspec=right.py", SOFTMAX).outlines
    assert said not in run("--attnspec=right.py", "--attnspec-timeout=20", SOFTMAX).outlines
    assert said not in run().outlines
